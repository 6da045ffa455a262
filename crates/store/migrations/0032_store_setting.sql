-- What all who use the store agree on, where it is in a database: `raw` and `leaving`, as in store.toml.
CREATE TABLE store_setting (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
