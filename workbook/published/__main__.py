"""Write the page of the census: ``python -m workbook.published > book/census.md``."""

from workbook.published.census import page

print(page(), end="")
