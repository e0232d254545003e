import AlbumModel
import ControlProtocol
import Foundation
import Glibc
import PictureMetadata
import Posix

/// In which form an export writes files.
enum ExportForm {
  case original
  /// Pictures with a long edge of at most so many pixels.
  case scaled(edge: Int)
  /// Originals without their metadata.
  case withoutMetadata

  /// The edges that the cell makes, in pixels.
  static let edges = 64...2048

  var isOriginal: Bool {
    if case .original = self { return true }
    return false
  }

  /// What is written of a file; a refusal concerns this file alone. Not for originals.
  func derive(_ file: SourceWalk.File) throws(Failure) -> Result<DerivedFile, ExportRefusal> {
    switch self {
    case .original: return .failure(ExportRefusal(reason: "it is exported as it is"))
    case .withoutMetadata:
      do throws(ExportRefusal) { return .success(try DerivedFile(stripping: file)) } catch {
        return .failure(error)
      }
    case .scaled(let edge):
      return try PictureScaling.scale(file, edge: edge).map { DerivedFile(file, picture: $0) }
    }
  }
}

/// Why one file is not exported in the form that the user wants.
struct ExportRefusal: Error, Equatable {
  let reason: String
}

/// What is written of one file: stretches of it, and other bytes.
struct DerivedFile {
  let file: SourceWalk.File
  let name: FileName
  /// In bytes.
  let size: Int64
  private let pieces: [StrippedPicture.Piece]

  private static let chunk = 1 << 20

  /// A picture that the cell has made. Its name gets the ending of its kind.
  init(_ file: SourceWalk.File, picture: [UInt8]) {
    self.file = file
    pieces = [.bytes(picture)]
    size = Int64(picture.count)
    let ending =
      picture.starts(with: [0xFF, 0xD8])
      ? "jpg" : picture.starts(with: [0x89, 0x50]) ? "png" : "webp"
    name = DerivedFile.name(file.name, ending: ending)
  }

  init(stripping file: SourceWalk.File) throws(ExportRefusal) {
    self.file = file
    name = file.name
    do {
      let reader = try PlainReader(file.path)
      let plan = try StrippedPicture.plan(size: reader.size) { try? reader.bytes($0, at: $1) }
      (pieces, size) = (plan.pieces, plan.size)
    } catch StrippedPicture.Fault.unknownKind {
      throw ExportRefusal(
        reason: "metadata can be taken out of JPEG, PNG, WebP, GIF, HEIC and AVIF alone")
    } catch StrippedPicture.Fault.damaged {
      throw ExportRefusal(
        reason: "its metadata cannot be separated from its picture: it is damaged or unusual")
    } catch let error as Errno {
      throw ExportRefusal(reason: "\(error)")
    } catch {
      throw ExportRefusal(reason: "it cannot be read")
    }
  }

  /// `IMG_1.heic` becomes `IMG_1.jpg`; a name that has the ending of its kind stays.
  static func name(_ name: FileName, ending: String) -> FileName {
    let bytes = name.bytes
    let dot = bytes.lastIndex(of: UInt8(ascii: ".")) ?? bytes.endIndex
    let stem = dot == bytes.startIndex ? bytes[...] : bytes[..<dot]
    let own = String(decoding: bytes[dot...].dropFirst(), as: UTF8.self).lowercased()
    if own == ending || own == "jpeg" && ending == "jpg" { return name }
    let end = Array(".\(ending)".utf8)
    var kept = Array(stem)
    while kept.count + end.count > FileName.maximumLength {
      // A character of UTF-8 goes as a whole.
      while let last = kept.popLast(), last & 0xC0 == 0x80 {}
    }
    return FileName(known: kept + end)
  }

  /// Passes all bytes in pieces of bounded size. Throws `changed` if the original changed since it was found.
  func each(
    _ body: ([UInt8]) throws(PlainCopy.Fault) -> Void
  ) throws(PlainCopy.Fault) {
    let reader: PlainReader
    do throws(Errno) { reader = try PlainReader(file.path) } catch { throw .source(error) }
    for piece in pieces {
      switch piece {
      case .bytes(let bytes): try body(bytes)
      case .zeros(let count):
        var rest = count
        while rest > 0 {
          let part = min(rest, Int64(DerivedFile.chunk))
          try body([UInt8](repeating: 0, count: Int(part)))
          rest -= part
        }
      case .part(let part):
        var place = part.lowerBound
        while place < part.upperBound {
          let count = Int(min(Int64(DerivedFile.chunk), part.upperBound - place))
          let bytes: [UInt8]
          do throws(Errno) { bytes = try reader.bytes(count, at: place) } catch {
            throw .source(error)
          }
          if bytes.count != count { throw .changed }
          try body(bytes)
          place += Int64(count)
        }
      }
    }
    do throws(Errno) {
      if try !PlainEntry(file.path).hasContent(of: file.entry) { throw .stale }
    } catch {
      throw error == .stale ? .changed : .source(error)
    }
  }

  /// Creates a file with these bytes and the modification time of the original. Leaves nothing if it fails.
  /// Returns the checksum.
  func write(
    to path: PlainPath, watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> UInt32 {
    var writer: PlainWriter
    do throws(Errno) { writer = try PlainWriter(path) } catch { throw .target(error) }
    var checksum = CRC32()
    do throws(PlainCopy.Fault) {
      try each { bytes throws(PlainCopy.Fault) in
        checksum.add(bytes[...])
        do throws(Errno) { try writer.append(bytes) } catch { throw .target(error) }
        if !watch(Int64(bytes.count)) { throw .stopped }
      }
      do throws(Errno) { try writer.setTime(file.entry.modified) } catch {
        // FAT refuses some times.
        if error != .notPermitted, error != .notSupported { throw .target(error) }
      }
    } catch {
      try? PathCalls.removeFile(path)
      throw error
    }
    return checksum.value
  }
}

/// Scaled pictures, made by the cell of the daemon that serves the space.
private enum PictureScaling {
  private static let attempts = 100

  static func scale(
    _ file: SourceWalk.File, edge: Int
  ) throws(Failure) -> Result<[UInt8], ExportRefusal> {
    guard let mount = try MountPath.table().space(holding: file.path.text) else {
      throw Failure(ofDeadSpace: .notConnected)!
    }
    let top = PlainPath(mount.mountPoint).bytes
    let path = Array(file.path.bytes.dropFirst(top.count).drop { $0 == UInt8(ascii: "/") })
    for _ in 0..<attempts {
      switch try ControlClient(mount).ask(.preview(path: path, edge: edge)) {
      case .picture(let text):
        guard let picture = Data(base64Encoded: text), !picture.isEmpty else { break }
        return .success(Array(picture))
      case .failed(let failure):
        if failure.kind == .busy {
          // The gallery's pages ask for pictures, too.
          usleep(100_000)
          continue
        }
        return .failure(ExportRefusal(reason: reason(failure)))
      default: break
      }
      throw Failure(.unsupported, "The daemon of this mount makes no pictures. Mount it again.")
    }
    return .failure(ExportRefusal(reason: "the decoder has too much to do"))
  }

  private static func reason(_ failure: Failure) -> String {
    switch failure.kind {
    case .damaged: "it is damaged"
    case .timedOut: "decoding it took too long"
    default: "it is not a picture that can be scaled"
    }
  }
}
