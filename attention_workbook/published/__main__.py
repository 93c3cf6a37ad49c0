"""Write the page of the census: ``python -m attention_workbook.published > book/census.md``."""

from attention_workbook.published.census_page import page

print(page(), end="")
