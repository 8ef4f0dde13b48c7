// name: attribute-layouts
// title: Instances of a class by the attributes that they have
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: type   STRING        full type name, as the runtime spells it
// param: limit  INTEGER = 20  maximum number of rows
// column: attributes       STRING   names of the attributes, in the order of the alphabet; empty for none
// column: attribute_count  INTEGER  how many those are
// column: object_count     INTEGER  reachable instances that have exactly these
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: sample_address   STRING   address of the first of them in the dump
//
// Instances whose attributes are set in different orders, or only later, cannot share the
// table of their names, and take more memory; set all of them in __init__, or declare
// __slots__. An attribute that only few instances have may tell what state the others are
// not in. Continue with references-of for the address.
MATCH (t:Type {dump: $dump, name: $type})<-[:INSTANCE_OF]-(o:Object)
WHERE o.root_distance IS NOT NULL
OPTIONAL MATCH (o)-[r:REFERENCES]->(:Object)
WHERE NOT r.field STARTS WITH '[' AND r.field <> '(key)'
WITH o, r.field AS field
ORDER BY field
WITH o, collect(DISTINCT field) AS fields
ORDER BY o.key
WITH fields, count(*) AS object_count, sum(o.shallow_bytes) AS shallow_bytes,
  collect(o)[0] AS first
RETURN
  reduce(
    text = '', field IN fields |
    text + CASE text WHEN '' THEN '' ELSE ', ' END + field
  ) AS attributes,
  size(fields) AS attribute_count,
  object_count,
  shallow_bytes,
  first.address AS sample_address
ORDER BY object_count DESC, shallow_bytes DESC, first.key
LIMIT $limit
