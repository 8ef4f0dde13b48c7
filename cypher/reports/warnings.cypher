// name: warnings
// title: What was irregular in the dump
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: position  INTEGER  in the order of first sight, from 1
// column: warning   STRING   kind, how often, and the first line at fault
//
// The reader counts what is irregular and goes on; load with --strict to refuse such
// a dump. Missing objects are in missing-references. Truncated or malformed lines
// mean that numbers of this dump are too small.
MATCH (d:Dump {number: $dump})
UNWIND range(1, size(d.warnings)) AS position
RETURN position, d.warnings[position - 1] AS warning
ORDER BY position
LIMIT $limit
