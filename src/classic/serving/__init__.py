"""The service: an HTTP API and a web page over a store. `docs/service.md` is its contract."""
