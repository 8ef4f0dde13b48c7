// name: lru-caches
// title: Caches of functools.lru_cache by function, and what they retain
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: function         STRING   full name of the function; null if the dump has none
// column: cache_count      INTEGER  reachable caches of it
// column: retained_bytes   INTEGER  sum of their retained sizes, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// A cache without maxsize keeps all results and arguments until the program ends; one on a
// method keeps self too. Several caches of one function are often made in a function that
// is called again and again. CPython does not tell the number of entries, only what they
// retain. What something else holds too is not counted. Continue with dominated-types.
MATCH (t:Type)<-[:INSTANCE_OF]-(c:Object)
WHERE t.dump = $dump AND t.name = 'functools._lru_cache_wrapper'
  AND c.root_distance IS NOT NULL
WITH c
ORDER BY c.retained_bytes DESC, c.key
WITH c.value AS function, count(*) AS cache_count,
  sum(c.retained_bytes) AS retained_bytes, collect(c)[0] AS largest
RETURN
  function,
  cache_count,
  retained_bytes,
  largest.address AS largest_address
ORDER BY retained_bytes DESC, cache_count DESC, largest.key
LIMIT $limit
