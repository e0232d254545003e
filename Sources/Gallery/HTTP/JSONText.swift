internal import AlbumModel
import HTTPTypes
import Hummingbird
import NIOCore

/// Writes JSON piece by piece: a listing of 100,000 photos is not first made of objects.
struct JSONText {
  private(set) var bytes: [UInt8] = []
  private var needsComma = false

  mutating func object(_ body: (inout JSONText) -> Void) { nest("{", "}", body) }
  mutating func array(_ body: (inout JSONText) -> Void) { nest("[", "]", body) }

  mutating func field(_ name: String, _ body: (inout JSONText) -> Void) {
    key(name)
    body(&self)
    needsComma = true
  }
  mutating func field(_ name: String, _ text: String?) { field(name) { $0.value(text) } }
  mutating func field(_ name: String, _ number: Int64?) { field(name) { $0.value(number) } }
  mutating func field(_ name: String, _ number: Double?) { field(name) { $0.value(number) } }
  mutating func field(_ name: String, _ isTrue: Bool) { field(name) { $0.value(isTrue) } }

  mutating func field<Values: Sequence>(
    _ name: String, each values: Values, _ body: (inout JSONText, Values.Element) -> Void
  ) {
    field(name) { text in
      text.array { text in for value in values { body(&text, value) } }
    }
  }

  mutating func value(_ text: String?) {
    guard let text else { return word("null") }
    comma()
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 { escape(byte) }
    bytes.append(UInt8(ascii: "\""))
  }
  mutating func value(_ number: Int64?) { word(number.map(String.init) ?? "null") }
  /// A number that JSON does not have is null.
  mutating func value(_ number: Double?) {
    word(number.flatMap { $0.isFinite ? "\($0)" : nil } ?? "null")
  }
  mutating func value(_ isTrue: Bool) { word(isTrue ? "true" : "false") }

  private mutating func word(_ text: String) {
    comma()
    bytes += text.utf8
  }

  private mutating func key(_ name: String) {
    value(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  private mutating func comma() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private mutating func nest(_ open: String, _ close: String, _ body: (inout JSONText) -> Void) {
    word(open)
    needsComma = false
    body(&self)
    bytes += close.utf8
    needsComma = true
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
    case 0..<0x20:
      bytes += "\\u00\(Hexadecimal.text(byte))".utf8
    default: bytes.append(byte)
    }
  }

  func response(_ status: HTTPResponse.Status = .ok) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json; charset=utf-8"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  /// `{}`
  static var empty: Response {
    var text = JSONText()
    text.object { _ in }
    return text.response()
  }
}
