// name: allocation-files
// title: Memory by the library, or the file, whose code allocated it
// group: Traces
// needs: sites
// mode: read
// param: dump     INTEGER       number of the dump
// param: library  STRING = ""   list the files of this library; if empty, group by library
// param: limit    INTEGER = 20  maximum number of rows
// column: allocated_by     STRING   gem, package, `(program)` or `(standard library)`; or a file
// column: file_count       INTEGER  files in it that allocated objects
// column: object_count     INTEGER  objects of the dump allocated there, including unreachable ones
// column: reachable_count  INTEGER  of those, reachable objects
// column: reachable_bytes  INTEGER  their shallow size, bytes
// column: retained_bytes   INTEGER  sum of the retained sizes of those that no object allocated there dominates, bytes
// column: largest_address  STRING   address of the one of those that retains most
//
// Recorded of Ruby and Python programs that trace their allocations: a site is a line of a
// file there. Gems and packages have the name of their folder. What a `require` or an
// import of a library retains is in its row: objects that its own code allocated, and what
// goes with them; take a dump right after it to leave out what the program did with it
// later. An object below one of another library that is itself below the first counts
// twice. Continue with the parameter library, or with why for largest_address. No rows: the
// dump has no allocation sites, or they name no files.
MATCH (:Dump {number: $dump})-[:HAS_ALLOCATION_SITE]->(s:AllocationSite)
WHERE s.name =~ '(?s).+:[0-9]+( in .*)?' AND NOT s.name =~ '(?s).*:[0-9]+:[0-9]+.*'
WITH s, split(s.name, ' in ')[0] AS line
WITH s, left(line, size(line) - size(last(split(line, ':'))) - 1) AS file
WITH s, file, [m IN ['/gems/', '/site-packages/', '/dist-packages/', '/lib/ruby/',
  '/lib/python'] WHERE file CONTAINS m
  | CASE WHEN m STARTS WITH '/lib/' THEN '(standard library)'
    ELSE split(last(split(file, m)), '/')[0] END]
  + [CASE WHEN file STARTS WITH '<' THEN '(standard library)' ELSE '(program)' END]
  AS libraries
WHERE $library = '' OR libraries[0] = $library
WITH CASE WHEN $library = '' THEN libraries[0] ELSE file END AS allocated_by,
  count(DISTINCT file) AS file_count, sum(s.object_count) AS object_count,
  sum(s.reachable_count) AS reachable_count, sum(s.reachable_bytes) AS reachable_bytes,
  collect(s) AS sites
CALL (sites) {
  UNWIND sites AS s
  MATCH (o:Object)-[:ALLOCATED_AT]->(s)
  WHERE o.root_distance IS NOT NULL
    AND NOT EXISTS {
      MATCH (h:Object)-[:DOMINATES]->(o)
      MATCH (h)-[:ALLOCATED_AT]->(t:AllocationSite)
      WHERE t IN sites
    }
  WITH o
  ORDER BY o.retained_bytes DESC, o.key
  RETURN sum(o.retained_bytes) AS retained_bytes,
    collect(o.address)[0] AS largest_address
}
RETURN
  allocated_by,
  file_count,
  object_count,
  reachable_count,
  reachable_bytes,
  retained_bytes,
  largest_address
ORDER BY retained_bytes DESC, reachable_bytes DESC, object_count DESC, allocated_by
LIMIT $limit
