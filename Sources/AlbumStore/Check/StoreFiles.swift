import AlbumFormat
import AlbumModel
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
  init(_ files: SegmentFiles, _ listing: SegmentListing) {
    let own = Set(listing.own.values.joined().map(\.name))
    for name in listing.names {
      let path = SegmentPath.path(of: name)
      do throws(Errno) {
        let size = try files.directory.open(path, .read).size()
        if size < Int64(files.segmentSize), !own.contains(name) { shortCount += 1 }
      } catch {
        if !error.isMisplaced { continue }
        if own.contains(name) {
          misplaced[path] = error
        } else {
          strange = ((strange?.count ?? 0) + 1, StoreError(reading: path, error))
        }
      }
    }
    for error in files.misplaced {
      if let path = error.path, let cause = error.cause { misplaced[path] = cause }
    }
  }

  var findings: [CheckFinding] {
    var findings = misplaced.sorted { $0.key < $1.key }.map { path, error in
      CheckFinding(
        .damage, .store, segments: [path], StoreError(reading: path, error).message)
    }
    if let strange {
      let others = strange.count - 1
      findings.append(
        CheckFinding(
          .note, .store, segments: strange.example.path.map { [$0] } ?? [],
          strange.example.message
            + (others == 0 ? "" : ", and \(others) more files with the names of segments are none")
            + "; this space needs none of it"))
    }
    if shortCount > 0 {
      findings.append(
        CheckFinding(
          .note, .store,
          "files with the names of segments that are shorter than a segment, and not this space's: "
            + "\(shortCount); sessions that write fill up \(ShortFiles.segmentLimit) of them each at most"
        ))
    }
    return findings
  }
}
