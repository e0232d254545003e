import AlbumModel
import Testing

@Suite struct MarkedNameTests {
  /// 🏔️ is seven bytes of two characters of Unicode, é is two bytes.
  @Test(arguments: ["🏔️", "é", "x"]) func `a mark goes before the ending, and cuts no character`(
    _ letter: String
  ) throws {
    for length in 0..<4 {
      let start = String(repeating: "x", count: length)
      var text = start
      while text.utf8.count + letter.utf8.count + 4 <= FileName.maximumLength { text += letter }
      let name = try FileName("\(text).jpg")
      let marked = name.with(" (restored)")
      #expect(marked.bytes.count <= FileName.maximumLength)
      #expect(marked.bytes.count > FileName.maximumLength - 16)
      #expect(String(validating: marked.bytes, as: UTF8.self)?.hasSuffix(" (restored).jpg") == true)
    }
  }

  @Test func `a name without an ending gets the mark at its end`() throws {
    #expect(try FileName("notes").with(" (2)") == FileName("notes (2)"))
    #expect(try FileName(".notes").with(" (2)") == FileName(".notes (2)"))
    #expect(try FileName("a.tar.gz").with(" (2)") == FileName("a.tar (2).gz"))
    let bytes = [UInt8](repeating: 0x80, count: 255)
    #expect(try FileName(bytes).with(" (2)").bytes.count > 245)
  }
}
