import AlbumTestSupport
import PictureMetadata
import Testing

/// albumfs finds the previews in raw files, wherever the maker put them.
struct EmbeddedPreviewTests {
  /// Makes a JPEG up to its frame, of this size.
  private func head(_ width: Int, _ height: Int, frame: UInt8 = 0xC0) -> [UInt8] {
    let size = [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)]
    return [0xFF, 0xD8, 0xFF, 0xDB, 0, 3, 0, 0xFF, frame, 0, 11, 8] + size + [1, 1, 0x11, 0]
  }

  private func largest(_ file: [UInt8]) -> EmbeddedPreview? {
    EmbeddedPreview.largest(in: file.span)
  }

  private func orientation(_ file: [UInt8]) -> Int? { RawHead.orientation(of: file.span) }
  private func isOfCamera(_ file: [UInt8]) -> Bool { RawHead.isOfCamera(file.span) }

  @Test func theLargestOfSeveralIsFound() {
    let file = [1, 2, 3] + head(160, 120) + [9] + head(1600, 1200) + [0xFF] + head(640, 480)
    let found = largest(file)
    #expect(found?.width == 1600 && found?.height == 1200)
    #expect(found?.start == 3 + head(160, 120).count + 1)
  }

  @Test func aTileOfTheRawPictureIsNoPreview() {
    let file = RawSamples.dng(preview: head(1024, 683), tile: head(2000, 1500), orientation: 6)
    #expect(largest(file)?.width == 1024)
    #expect(orientation(file) == 6)
    // Directories that lead in a circle end.
    var circle = file
    circle.replaceSubrange(8 + 2 + 12 * 7..<8 + 2 + 12 * 7 + 4, with: [8, 0, 0, 0])
    #expect(largest(circle)?.width == 1024)
  }

  @Test func losslessFramesAndStreamsWithoutTablesAreNone() {
    #expect(largest(head(100, 100, frame: 0xC3)) == nil)
    var bare = head(100, 100)
    bare.removeSubrange(2..<7)
    #expect(largest(bare) == nil)
    #expect(largest([]) == nil)
    #expect(largest([0xFF, 0xD8, 0xFF]) == nil)
  }

  /// A hostile file of nothing but beginnings costs no more than its length.
  @Test func beginningsWithoutEndAreNoWork() {
    let beginnings = [[UInt8]](repeating: [0xFF, 0xD8, 0xFF, 0xFF], count: 500_000).joined()
    #expect(largest(Array(beginnings)) == nil)
  }

  @Test func theRawFileSaysWhichWayUp() {
    for wanted in 1...8 {
      for file in [
        RawSamples.tiff(preview: [], orientation: wanted),
        RawSamples.orf(preview: [], orientation: wanted),
        RawSamples.rw2(preview: [], orientation: wanted),
        RawSamples.cr3(preview: [], orientation: wanted),
      ] {
        #expect(orientation(file) == wanted)
      }
    }
    for nonsense in [0, 9, 200] {
      let file = RawSamples.tiff(preview: [], orientation: nonsense)
      #expect(orientation(file) == nil)
    }
  }

  @Test func aTIFFOfACameraIsTold() {
    let camera = RawSamples.tiff(preview: [], orientation: 1)
    let scanner = RawSamples.tiff(preview: [], orientation: 1, maker: nil)
    #expect(isOfCamera(camera))
    #expect(!isOfCamera(scanner))
  }
}
