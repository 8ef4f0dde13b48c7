// name: warnings
// title: Irregularities found in the dump
// group: Overview
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: position  INTEGER  in order of first occurrence, from 1
// column: warning   STRING   kind, count, and the first line concerned
//
// The reader counts irregularities and continues; load with --strict to reject such
// a dump. Missing objects are listed by missing-references. If lines were truncated
// or malformed, the numbers of this dump are too small.
MATCH (d:Dump {number: $dump})
UNWIND range(1, coalesce(size(d.warnings), 0)) AS position
RETURN position, d.warnings[position - 1] AS warning
ORDER BY position
LIMIT $limit
