import AlbumModel
import Testing

@testable import Gallery

/// What a session remembers of uploads.
@Suite struct UploadTableTests {
  private func upload(_ size: Int64) -> Upload {
    Upload(
      album: 1, name: FileName(known: Array("a.jpg".utf8)), size: size,
      modified: .init(nanoseconds: 0))
  }

  /// Uploads that a client begins and never finishes keep nobody from beginning another one.
  @Test func theOneThatWasNotUsedForLongestGoes() throws {
    let table = UploadTable()
    let ids = (0..<4096).map { table.add(upload(Int64($0))) }
    _ = try table.upload(ids[0])
    let more = (0..<2).map { table.add(upload(5000 + Int64($0))) }
    for gone in ids[1...2] { #expect(throws: GalleryError.self) { try table.upload(gone) } }
    for kept in [ids[0]] + ids[3...] + more { _ = try table.upload(kept) }
    table.remove(ids[0])
    #expect(throws: GalleryError.self) { try table.upload(ids[0]) }
  }
}
