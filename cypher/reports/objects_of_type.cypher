// name: objects-of-type
// title: Instances of a type with the largest retained sizes
// group: Types
// mode: read
// param: dump   INTEGER       number of the dump
// param: type   STRING        full type name, as the runtime spells it
// param: limit  INTEGER = 20  maximum number of rows
// column: domain          INTEGER  ordinal of its domain; null if the dump has only one
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
// column: retained_count  INTEGER  objects freed with it, including itself
// column: root_distance   INTEGER  references from the nearest root; null if unreachable
// column: value           STRING   text, number or name stored in the object
// column: length          INTEGER  elements of a list or map, UTF-16 code units of a string
//
// The instances one by one, unreachable ones last. Where all are small, only their
// number matters: owners-of-type and root-paths-of-type show what keeps them alive.
// Continue with shortest-root-path for an address.
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
