"""A CRM in one process, in memory, that serves the gateway's contract and answers as its contacts."""
