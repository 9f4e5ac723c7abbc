"""The store: a folder that grows by one immutable version for every domain it learns."""
