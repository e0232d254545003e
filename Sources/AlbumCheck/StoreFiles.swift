import AlbumModel
import AlbumStore
import Posix

/// Findings about the types and lengths of all segment files in the store, including other spaces' segments.
struct StoreFiles {
  /// Objects of the wrong type in the place of this space's segments, or of folders.
  private var misplaced: [String: Errno] = [:]
  /// The number of such objects with other names of segments, and one example.
  private var strange: (count: Int, path: String, error: Errno)?
  /// Segments of this space that are longer than a segment, with their sizes.
  private var long: [(path: String, size: Int64)] = []
  private let segmentSize: Int
  /// The number of short files with names of segments that are not this space's.
  private var shortCount = 0

  /// Opens each file once and reads no content.
  init(_ store: Store, _ space: SalvagedSpace) {
    let (all, own) = space.segmentNames
    segmentSize = space.segmentSize
    for name in all {
      let path = SegmentPath.path(of: name)
      do throws(Errno) {
        let size = try store.directory.open(path, .read).size()
        if size < Int64(space.segmentSize), !own.contains(name) { shortCount += 1 }
        if size > Int64(space.segmentSize), own.contains(name) { long.append((path, size)) }
      } catch {
        if !error.isMisplaced { continue }
        if own.contains(name) {
          misplaced[path] = error
        } else {
          strange = ((strange?.count ?? 0) + 1, path, error)
        }
      }
    }
    for error in space.misplaced {
      if let path = error.path, let cause = error.cause { misplaced[path] = cause }
    }
  }

  var findings: [CheckFinding] {
    var findings = misplaced.sorted { $0.key < $1.key }.map { path, error in
      CheckFinding(
        .damage, .store, segments: [path], .ofStore(.misplaced(path: path, error)))
    }
    findings += long.sorted { $0.path < $1.path }.map { path, size in
      CheckFinding(.damage, .store, segments: [path], .segmentLong(size, of: segmentSize))
    }
    if let strange {
      findings.append(
        CheckFinding(
          .note, .store, segments: [strange.path],
          .strangers(
            example: .misplaced(path: strange.path, strange.error), others: strange.count - 1)))
    }
    if shortCount > 0 {
      findings.append(CheckFinding(.note, .store, .shortFiles(shortCount)))
    }
    return findings
  }
}
