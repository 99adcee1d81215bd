"""What the records of a run come to: good rows, deliveries, and tables that people read.

    files, bronze     which files and rows are taken as they are, and why others are not
    silver            one row for each delivery, whatever number of places saw it
    repeated          which rows may be of one delivery with others
    assembly          how these become one row
    table             what a gold table is: sums that merge, and how they are read
    histogram         delays by buckets of integers
    gold, catalog     the tables, and their order

All are functions from DataFrames to DataFrames, the same for a batch and for a part of a stream.
"""
