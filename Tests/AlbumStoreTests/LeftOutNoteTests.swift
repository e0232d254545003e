import AlbumModel
import Testing

@testable import AlbumStore

struct LeftOutNoteTests {
  @Test func aNoteIsReadAsItWasWritten() {
    for (isDamage, milliseconds) in [(true, Int64(0)), (false, 1_790_000_000_123)] {
      let note = LeftOutNote(
        isDamage: isDamage, since: StoreTime(milliseconds: milliseconds), path: "Trip/Photo/ä.jpg")
      #expect(LeftOutNote(note.encoded) == note)
    }
  }

  @Test func whatNoSpaceWritesIsNoNote() {
    #expect(LeftOutNote([]) == nil)
    #expect(LeftOutNote([0, 1, 2]) == nil)
    #expect(LeftOutNote([2] + [UInt8](repeating: 0, count: 20)) == nil)
    #expect(LeftOutNote([1] + [UInt8](repeating: 255, count: 20)) == nil)
  }
}
