import AlbumModel
import Inflating
import Posix
import Traces

extension ZipDirectory.Member {
  private static let chunk = 256 << 10
  /// The bytes of a member that are searched for its date of capture.
  private static let headBytes = 1 << 20

  /// Creates a file with the content and the modification time of the member. Leaves nothing if it fails, or
  /// if the content is not what the zip file says.
  func unpack(
    from zip: PlainPath, to path: PlainPath, watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) {
    var writer: PlainWriter
    do throws(Errno) { writer = try PlainWriter(path) } catch { throw .target(error) }
    do throws(PlainCopy.Fault) {
      var checksum = CRC32()
      try read(from: zip) { piece throws(PlainCopy.Fault) in
        checksum.add(piece[...])
        // Never more than the zip file promised.
        if writer.end + Int64(piece.count) > size { throw .source(.badMessage) }
        do throws(Errno) { try writer.append(piece) } catch { throw .target(error) }
        if !watch(Int64(piece.count)) { throw .stopped }
      }
      if writer.end != size || checksum.value != self.checksum { throw .source(.badMessage) }
      do throws(Errno) { try writer.setTime(modified) } catch { throw .target(error) }
    } catch {
      try? PathCalls.removeFile(path)
      throw error
    }
  }

  /// The begin, in which the date of capture is looked for.
  func head(in zip: PlainPath) -> [UInt8] {
    var head: [UInt8] = []
    let limit = ZipDirectory.Member.headBytes
    try? read(from: zip) { piece throws(PlainCopy.Fault) in
      head += piece
      if head.count >= limit { throw .stopped }
    }
    return head
  }

  private func read(
    from zip: PlainPath, _ body: ([UInt8]) throws(PlainCopy.Fault) -> Void
  ) throws(PlainCopy.Fault) {
    let reader: PlainReader
    do throws(Errno) { reader = try PlainReader(zip) } catch { throw .source(error) }
    var stream: InflationStream
    do { stream = try InflationStream() } catch { throw .source(.noMemory) }
    var place = content.lowerBound
    while place < content.upperBound {
      let count = min(Int64(ZipDirectory.Member.chunk), content.upperBound - place)
      let piece: [UInt8]
      do throws(Errno) { piece = try reader.bytes(Int(count), at: place) } catch {
        throw .source(error)
      }
      if piece.count != Int(count) { throw .source(.badMessage) }
      place += count
      if isPacked {
        try stream.add(piece, PlainCopy.Fault.source(.badMessage), body)
        if stream.isAtEnd { break }
      } else {
        try body(piece)
      }
    }
    if isPacked, !stream.isAtEnd { throw .source(.badMessage) }
  }
}

extension SourceWalk {
  /// True if a file that a person names is a zip file: `.zip`, and what such a file begins with, or has at
  /// its end. One that unpacks itself begins with a program, and may be called `.exe`.
  static func isZip(_ path: PlainPath) -> Bool {
    let ending = path.bytes.suffix(4).map { $0 | 0x20 }
    let isNamed = ending == Array(".zip".utf8)
    guard isNamed || ending == Array(".exe".utf8), let reader = try? PlainReader(path) else {
      return false
    }
    let head = (try? reader.bytes(4, at: 0)) ?? []
    if isNamed, head == [0x50, 0x4B, 3, 4] || head == [0x50, 0x4B, 5, 6] { return true }
    return ZipDirectory.isAtEnd(of: reader.size) { try? reader.bytes($0, at: $1) }
  }

  /// Adds the files of a zip file, by the same rules as those of a folder.
  mutating func addZip(_ zip: PlainPath, _ entry: PlainEntry) {
    let directory: ZipDirectory
    do {
      let reader = try PlainReader(zip)
      directory = try ZipDirectory(size: reader.size, rules: rules) {
        try? reader.bytes($0, at: $1)
      }
    } catch let fault as ZipDirectory.Fault {
      return addProblem(zip, fault.reason)
    } catch {
      return addProblem(zip, "\(error)")
    }
    for problem in directory.problems {
      addProblem(PlainPath("\(zip.text)/\(problem.name)"), problem.reason)
    }
    for (path, omission) in directory.omitted {
      omit(path.reduce(zip) { $0.appending($1) }, omission)
    }
    var siblings: [[FileName]: Set<FileName>] = [:]
    for member in directory.members {
      for depth in member.folders.indices {
        siblings[Array(member.folders[..<depth]), default: []].insert(member.folders[depth])
      }
    }
    for member in directory.members {
      guard let folders = target(of: member.folders, siblings) else { continue }
      var unpacked = entry
      (unpacked.size, unpacked.modified) = (member.size, member.modified)
      let path = (member.folders + [member.name]).reduce(zip) { $0.appending($1) }
      addMember(
        File(
          path: path, name: member.name, folders: folders, entry: unpacked,
          member: (zip: zip, member: member)))
    }
  }

  /// The folders at the target; nil where they are left out.
  private func target(
    of folders: [FileName], _ siblings: [[FileName]: Set<FileName>]
  ) -> [FileName]? {
    var found: [FileName] = []
    for depth in folders.indices {
      let parent = depth > 0 ? folders[depth - 1] : nil
      switch passage(folders[depth], parent, siblings[Array(folders[..<depth])] ?? []) {
      case .folder(let name): found.append(name)
      case .merged: break
      case .skipped, .leftOut: return nil
      }
    }
    return found
  }
}
