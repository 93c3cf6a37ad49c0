"""Write the page of the census: ``python -m workbook.published > book/census.md``."""

from workbook.published.census_page import page

print(page(), end="")
