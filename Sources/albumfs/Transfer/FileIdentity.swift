import AlbumModel
import FileKinds

/// What makes two files of an import the same one.
///
/// Pictures and films of the same content are the same, whatever their names: nobody wants one twice. Any
/// other file, such as a sidecar, belongs to the file beside it and may equal those of others. It is the same
/// only under the same name, and an empty file always.
enum FileIdentity {
  case content
  case nameAndContent

  /// `start` holds the first bytes of the file.
  init(_ name: FileName, size: Int64, start: [UInt8]) {
    let ending = FileIdentity.ending(of: name)
    let isMedia =
      NamedKind(of: name.bytes) != .other
      || ImageKind(sniffing: Array(start.prefix(ImageKind.sniffByteCount))) != nil
    self =
      isMedia && size > 0 && !FileIdentity.sidecars.contains(ending) ? .content : .nameAndContent
  }

  /// Small pictures and films that cameras make beside the films that they belong to.
  private static let sidecars: Set<String> = ["thm", "lrv", "lrf"]

  /// In lower case; empty if there is none.
  private static func ending(of name: FileName) -> String {
    guard let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")) else { return "" }
    return String(decoding: name.bytes[(dot + 1)...], as: UTF8.self).lowercased()
  }
}
