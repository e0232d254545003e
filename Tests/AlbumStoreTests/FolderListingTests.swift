import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

/// The list of all segments, from the folders of a store.
struct FolderListingTests {
  /// Another process moves a folder of segments away while all are listed: the error names it, and says what
  /// became of it.
  @Test func aFolderThatGoesWhileTheFoldersAreListedIsNamed() throws {
    let place = TemporaryDirectory()
    let disk = FaultyDisk(try PosixDirectory(path: place.path))
    for folder in ["segments", "segments/0a", "segments/0b"] { try disk.makeDirectory(folder) }
    #expect(try disk.segmentFolders().names.isEmpty)
    disk.fail(.list, with: .noEntry, skipping: 2)
    let error = #expect(throws: StoreError.self) { try disk.segmentFolders() }
    #expect(error?.code == .missing)
    #expect(error?.message.contains("segments/0") == true)
    #expect(error?.message.contains("replaced or moved away") == true)
  }
}
