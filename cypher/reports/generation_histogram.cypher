// name: generation-histogram
// title: Objects and bytes by generation
// group: Segments and generations
// needs: generations
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: generation       INTEGER  0, 1 or 2; 3 is the LOH, 4 the POH
// column: name             STRING   name of the generation
// column: object_count     INTEGER  objects of the dump in it
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: reachable_count  INTEGER  of those, reachable from a root
// column: reachable_bytes  INTEGER  shallow size of the reachable ones, bytes
// column: share            FLOAT    share of the bytes of all generations, 0 to 1
//
// An object that survives a collection is promoted to the next generation.
// Unreachable objects in gen 2 wait for a full collection; new reachable ones are in
// gen 0.
MATCH (:Dump {number: $dump})-[:HAS_GENERATION]->(g:Generation)
WITH sum(g.shallow_bytes) AS all_bytes
MATCH (:Dump {number: $dump})-[:HAS_GENERATION]->(g:Generation)
RETURN
  g.number AS generation,
  g.name AS name,
  g.object_count AS object_count,
  g.shallow_bytes AS shallow_bytes,
  g.reachable_count AS reachable_count,
  g.reachable_bytes AS reachable_bytes,
  CASE WHEN all_bytes = 0 THEN 0.0 ELSE 1.0 * g.shallow_bytes / all_bytes END AS share
ORDER BY generation
LIMIT $limit
