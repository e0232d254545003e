import AlbumModel
import AlbumStore
import Posix

/// What lies in the store beside the records: the files of all segments, whosever they are, looked at for
/// what they are and how long.
struct StoreFiles {
  /// Something else lies in the place of a segment of this space, or of a folder.
  private var misplaced: [String: Errno] = [:]
  /// The same in the place of segments that are not this space's, and an example.
  private var strange: (count: Int, example: StoreError)?
  /// Short files with names of segments that are not this space's.
  private var shortCount = 0

  /// Opens each file once and reads none.
  init(_ store: Store, _ space: borrowing SalvagedSpace) {
    let (all, own) = space.segmentNames
    for name in all {
      let path = SegmentPath.path(of: name)
      do throws(Errno) {
        let size = try store.directory.open(path, .read).size()
        if size < Int64(space.segmentSize), !own.contains(name) { shortCount += 1 }
      } catch {
        if !error.isMisplaced { continue }
        if own.contains(name) {
          misplaced[path] = error
        } else {
          strange = ((strange?.count ?? 0) + 1, StoreError(reading: path, error))
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
        .damage, .store, segments: [path], .ofStore(StoreError(reading: path, error).message))
    }
    if let strange {
      findings.append(
        CheckFinding(
          .note, .store, segments: strange.example.path.map { [$0] } ?? [],
          .strangers(example: strange.example.message, others: strange.count - 1)))
    }
    if shortCount > 0 {
      findings.append(CheckFinding(.note, .store, .shortFiles(shortCount)))
    }
    return findings
  }
}
