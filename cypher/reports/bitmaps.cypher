// name: bitmaps
// title: Bitmaps of an Android program, by size
// group: JVM
// needs: android
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: dimensions       STRING   width x height, pixels
// column: bitmap_count     INTEGER  reachable bitmaps of that size
// column: external_bytes   INTEGER  their memory outside the heap, at 4 bytes a pixel, bytes
// column: retained_bytes   INTEGER  sum of their retained sizes in the heap, bytes
// column: largest_address  STRING   address of the first of them that retains most
// column: holder_type      STRING   type of its immediate dominator
//
// Since Android 8 pixels are outside the heap, before it in the array that the bitmap
// retains. Bitmaps that are larger than the screen, or many of one size, are images
// that were not scaled down when they were loaded, or a cache without a limit.
MATCH (t:Type)
WHERE t.dump = $dump AND t.name = 'android.graphics.Bitmap'
MATCH (o:Object)-[:INSTANCE_OF]->(t)
WHERE o.root_distance IS NOT NULL
WITH o.value AS dimensions, o
ORDER BY o.retained_bytes DESC, o.key
WITH dimensions, count(o) AS bitmap_count,
  sum(coalesce(o.external_bytes, 0)) AS external_bytes,
  sum(o.retained_bytes) AS retained_bytes, collect(o)[0] AS largest
ORDER BY external_bytes + retained_bytes DESC, dimensions
LIMIT $limit
OPTIONAL MATCH (h:Object)-[:DOMINATES]->(largest)
OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
RETURN
  dimensions,
  bitmap_count,
  external_bytes,
  retained_bytes,
  largest.address AS largest_address,
  ht.name AS holder_type
ORDER BY external_bytes + retained_bytes DESC, dimensions
LIMIT $limit
