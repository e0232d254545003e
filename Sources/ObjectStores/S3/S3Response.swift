/// The parts of S3's replies in XML that albumfs needs. Trusts nothing in them.
package enum S3Response {
  /// The server's word for an error: `NoSuchKey`; nil if there is none.
  package static func errorCode(_ body: [UInt8]) -> String? {
    guard let code = text(of: "Code", in: body[...]), 1...64 ~= code.utf8.count,
      code.utf8.allSatisfy({ 48...57 ~= $0 || 65...90 ~= $0 || 97...122 ~= $0 || $0 == 46 })
    else { return nil }
    return code
  }

  /// A part of a listing (ListObjectsV2), with whole keys; nil if it is none. A server may reply that there
  /// is more without an object, where it has many versions or removed objects.
  package static func page(_ body: [UInt8]) -> ObjectPage? {
    var next: String?
    switch text(of: "IsTruncated", in: body[...]) {
    case "false": break
    case "true":
      guard let token = text(of: "NextContinuationToken", in: body[...]),
        1...RemoteLines.valueLimit ~= token.utf8.count, token.utf8.allSatisfy({ $0 >= 0x20 })
      else { return nil }
      next = token
    default: return nil
    }
    var objects: [ListedObject] = []
    var rest = body[...]
    while let entry = element("Contents", in: &rest) {
      guard let key = text(of: "Key", in: entry), let digits = text(of: "Size", in: entry),
        let size = RemoteReply.size(digits), !key.utf8.contains(where: { $0 < 0x20 })
      else { return nil }
      let version = ObjectVersion(text(of: "ETag", in: entry) ?? "")
      objects.append(ListedObject(name: key, size: size, version: version))
    }
    return ObjectPage(objects: objects, next: next)
  }

  /// How the keys of a listing begin, as it says itself; nil if it does not.
  package static func prefix(_ body: [UInt8]) -> String? {
    let objects = body.firstRange(of: Array("<Contents>".utf8))
    return text(of: "Prefix", in: body[..<(objects?.lowerBound ?? body.endIndex)])
  }

  /// The text of the first element of that name, without its entities.
  private static func text(of name: String, in bytes: ArraySlice<UInt8>) -> String? {
    var rest = bytes
    guard let content = element(name, in: &rest) else { return nil }
    return String(validating: content, as: UTF8.self).flatMap(plain)
  }

  /// The content of the next element of that name. `rest` continues behind it.
  private static func element(
    _ name: String, in rest: inout ArraySlice<UInt8>
  ) -> ArraySlice<UInt8>? {
    guard let begin = rest.firstRange(of: Array("<\(name)>".utf8)),
      let end = rest[begin.upperBound...].firstRange(of: Array("</\(name)>".utf8))
    else { return nil }
    let content = rest[begin.upperBound..<end.lowerBound]
    rest = rest[end.upperBound...]
    return content
  }

  private static let entities = [
    "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'",
  ]

  /// Replaces the entities; nil if one is unknown.
  private static func plain(_ text: String) -> String? {
    var result = ""
    var rest = text[...]
    while let begin = rest.firstIndex(of: "&") {
      guard let end = rest[begin...].firstIndex(of: ";") else { return nil }
      let name = rest[rest.index(after: begin)..<end]
      guard let value = entities[String(name)] ?? character(name) else { return nil }
      result += rest[..<begin] + value
      rest = rest[rest.index(after: end)...]
    }
    return result + rest
  }

  /// `#65` or `#x41`.
  private static func character(_ name: Substring) -> String? {
    guard name.hasPrefix("#") else { return nil }
    let isHexadecimal = name.dropFirst().hasPrefix("x")
    let digits = name.dropFirst(isHexadecimal ? 2 : 1)
    return UInt32(digits, radix: isHexadecimal ? 16 : 10).flatMap(Unicode.Scalar.init).map {
      String($0)
    }
  }
}
