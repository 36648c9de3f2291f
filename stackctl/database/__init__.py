"""Moving a schema and its data from one database engine to another, through the SQL that both accept."""
