// name: walk
// title: The objects of a segment in the order of their addresses
// mode: read
// param: dump     INTEGER        number of the dump
// param: segment  INTEGER = 0    its ordinal
// param: start    STRING = "0x0" address to start at
// param: limit    INTEGER = 100  most rows to return
// column: address        STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes  INTEGER  its own bytes
// column: generation     INTEGER  0, 1 or 2; 3 for large objects, 4 for pinned
// column: type           STRING   full name of its type
// column: alive          BOOLEAN  whether a strong root reaches it
//
// What lies beside what. No row: the dump tells no segments, or none of that ordinal
// (ask: segments), and then its heap cannot be walked. Go on with the last address.
MATCH (o:Object)
WHERE o.dump = $dump AND o.segment = $segment
  AND (size(o.address) > size($start)
    OR (size(o.address) = size($start) AND o.address >= $start))
WITH o
ORDER BY size(o.address), o.address
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.generation AS generation,
  t.name AS type,
  o.root_distance IS NOT NULL AS alive
ORDER BY size(address), address
LIMIT $limit
