// name: missing-references
// title: Objects that are referred to but not in the dump
// group: Overview
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: domain           INTEGER       ordinal of its domain; null if the dump has only one
// column: address          STRING        hexadecimal, as a debugger prints it
// column: reference_count  INTEGER       references to it, including weak ones and those of unreachable objects
// column: root_count       INTEGER       roots that refer to it, including weak ones
// column: referrer_types   LIST<STRING>  short type names of its referrers, at most five
// column: alive            BOOLEAN       whether a root holds it
//
// Each is in the graph as a placeholder of size 0. A few are usual: the heap moved
// while it was written, or the object is on another heap. Many mean that the dump is
// truncated or incomplete, and then retained sizes are too small: see warnings.
// Placeholders are the last objects of a dump, so only their keys are read.
MATCH (d:Dump {number: $dump})
MATCH (o:Object)
WHERE o.key >= $dump * 1099511627776 + d.object_count
  AND o.key < ($dump + 1) * 1099511627776
CALL (o) {
  OPTIONAL MATCH (o)<-[r:REFERENCES|WEAKLY_REFERENCES]-(h:Object)
  WITH h, r
  ORDER BY h.type_name
  RETURN count(r) AS reference_count,
    collect(DISTINCT h.type_name)[..5] AS referrer_types
}
RETURN
  o.domain AS domain,
  o.address AS address,
  reference_count,
  COUNT { (o)<-[:REFERENCES|WEAKLY_REFERENCES]-(:Root) } AS root_count,
  referrer_types,
  o.root_distance IS NOT NULL AS alive
ORDER BY reference_count DESC, o.key
LIMIT $limit
