"""How fast the pipeline is, beside DuckDB and Polars on the same records: `make bench-pipeline`."""
