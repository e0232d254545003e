import AlbumModel
import FoundationEssentials
import Glibc
import Posix

@testable import albumfs

/// Zip files of Python's zipfile: one with folders, packed and stored files and a name in UTF-8; one of
/// Windows with Zip64, times of Unix, a comment and a name that leads out.
private let zipFiles: [[UInt8]] = {
  let texts: [String] = [
    """
    UEsDBBQAAAAIAAU5plAkovrDDgAAAHwAAAAOAAAARENJTS8xMDAvYS5qcGf7f+P/w4KM/JJ8BfqTAFBLAwQUAAAAAAAFOaZQ\
    E+pFdQUAAAAFAAAABQAAAGIudHh0c21hbGxQSwMEFAAACAAABTmmUAAAAAAAAAAAAAAAAAYAAABDYWbDqS9QSwECFAMUAAAA\
    CAAFOaZQJKL6ww4AAAB8AAAADgAAAAAAAAAAAAAApIEAAAAARENJTS8xMDAvYS5qcGdQSwECFAMUAAAAAAAFOaZQE+pFdQUA\
    AAAFAAAABQAAAAAAAAAAAAAApIE6AAAAYi50eHRQSwECFAMUAAAIAAAFOaZQAAAAAAAAAAAAAAAABgAAAAAAAAAAAAAA7UFi\
    AAAAQ2Fmw6kvUEsFBgAAAAADAAMAowAAAIYAAAAAAA==
    """,
    """
    UEsDBC0AAAAAAAAAIQCDFtyM//////////8IAB0ALi5ceC5qcGdVVAUAAQAAAGABABAAAQAAAAAAAAABAAAAAAAAAHhQSwEC\
    LQAtAAAAAAAAACEAgxbcjAEAAAABAAAACAAJAAAAAAAAAAAAgAEAAAAALi5ceC5qcGdVVAUAAQAAAGBQSwUGAAAAAAEAAQA/\
    AAAARAAAAAkAYSBjb21tZW50
    """,
  ]
  return texts.compactMap { Data(base64Encoded: $0).map { Array($0) } }
}()

private func reading(_ bytes: [UInt8]) -> ZipDirectory.Read {
  { count, offset in
    guard count >= 0, offset >= 0, offset <= Int64(bytes.count) else { return nil }
    return Array(bytes.dropFirst(Int(offset)).prefix(count))
  }
}

/// The directory of a zip file that somebody else made.
enum ZipDirectoryTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let large = (0..<3).map {
      ZipFormat.Entry(
        name: Array("\($0)/a".utf8), modified: .init(seconds: 1_000_000_000), permissions: 0o600,
        offset: 5 << 30, size: 5 << 30)
    }
    let heads = large.flatMap { ZipFormat.head(of: $0) }
    let directory = large.flatMap { ZipFormat.directoryEntry(of: $0) }
    let end = Int64(heads.count + directory.count)
    return zipFiles + [
      heads + directory + ZipFormat.end(count: 0xFFFF, directory: Int64(heads.count)..<end)
    ]
  }

  static func run(_ bytes: [UInt8]) {
    guard let directory = try? ZipDirectory(size: Int64(bytes.count), reading(bytes)) else {
      return
    }
    var total: Int64 = 0
    for member in directory.members {
      let names = member.folders + [member.name]
      require(!names.contains { $0.isHidden }, "what is hidden is no member")
      require(names.count <= 100, "folders are bounded")
      require(
        member.content.lowerBound >= 0 && member.content.upperBound <= bytes.count,
        "a member lies in the file")
      require(member.size >= 0, "a size is none below zero")
      total += member.size
      require(total <= max(100 << 20, Int64(bytes.count) * 100), "what it unpacks to is bounded")
    }
    let places = directory.members.map(\.content).filter { !$0.isEmpty }
    require(places.reduce(0) { $0 + $1.count } <= bytes.count, "members share no bytes")
  }
}

/// The members of such a file, unpacked.
enum ZipMembersTarget: FuzzTarget {
  private static let folder: String = {
    var template = Array("/dev/shm/albumfs-fuzz-XXXXXX".utf8CString)
    guard let path = unsafe mkdtemp(&template) else { fatalError("no room in /dev/shm") }
    return unsafe String(cString: path)
  }()
  private static let mostBytes: Int64 = 1 << 20

  static func seeds() -> [[UInt8]] { zipFiles }

  static func run(_ bytes: [UInt8]) {
    guard let directory = try? ZipDirectory(size: Int64(bytes.count), reading(bytes)) else {
      return
    }
    let (zip, target) = (PlainPath(folder + "/a.zip"), PlainPath(folder + "/unpacked"))
    try? PathCalls.removeFile(zip)
    do throws(Errno) {
      var file = try PlainWriter(zip)
      try file.append(bytes)
    } catch { require(false, "a file in memory can be written: \(error)") }
    for member in directory.members.prefix(8) where member.size <= mostBytes {
      var unpacked: Int64 = 0
      let isWhole: Void? = try? member.unpack(from: zip, to: target) { count in
        unpacked += count
        return true
      }
      require(unpacked <= member.size, "no member is larger than its directory says")
      if isWhole == nil {
        require((try? PlainEntry(target)) == nil, "what is damaged leaves no file")
      } else {
        require(unpacked == member.size, "a member is whole")
        try? PathCalls.removeFile(target)
      }
      _ = member.head(in: zip)
    }
  }
}
