"""The tables that people read, one module each; `giusto.pipeline.tables.catalog` lists them."""
