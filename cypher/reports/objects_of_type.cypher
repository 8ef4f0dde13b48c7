// name: objects-of-type
// title: The instances of a type that retain the most
// mode: read
// param: dump   INTEGER       number of the dump
// param: type   STRING        full name of the type, as the runtime spells it
// param: limit  INTEGER = 20  most rows to return
// column: domain          INTEGER  ordinal of its domain; null where the dump has one
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  its own bytes
// column: retained_bytes  INTEGER  what would be freed if it went, bytes
// column: retained_count  INTEGER  objects that would go with it, itself included
// column: root_distance   INTEGER  references from the nearest strong root; null for garbage
// column: value           STRING   text, number or name that it holds
// column: length          INTEGER  elements of a list or map, code units of a string
//
// The instances one by one, garbage last. Where all are small the type matters only
// as a crowd: owners-of-type and root-paths-of-type say who keeps it. Go on with
// shortest-root-path for an address.
MATCH (:Type {dump: $dump, name: $type})<-[:INSTANCE_OF]-(o:Object)
RETURN
  o.domain AS domain,
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  o.retained_count AS retained_count,
  o.root_distance AS root_distance,
  o.value AS value,
  o.length AS length
ORDER BY retained_bytes DESC, o.key
LIMIT $limit
