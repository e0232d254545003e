import AlbumFileSystem
import Glibc
import Posix
import Testing

@testable import FUSEDriver

@Suite struct ErrnoTableTests {
  @Test func everyRefusalHasItsOwnNumber() {
    var seen: [Errno: FSError.Code] = [:]
    for code in FSError.Code.allCases {
      let number = ErrnoTable.number(for: code)
      #expect(number.rawValue > 0)
      #expect(seen[number] == nil, "\(code) and \(seen[number]!) look the same to the caller")
      seen[number] = code
    }
  }

  @Test func noRefusalSwitchesAnOperationOffForGood() {
    for code in FSError.Code.allCases { #expect(ErrnoTable.number(for: code).rawValue != ENOSYS) }
  }

  @Test func callersGetTheNumbersThatPosixNames() {
    #expect(ErrnoTable.number(for: .notFound).rawValue == ENOENT)
    #expect(ErrnoTable.number(for: .crossDevice).rawValue == EXDEV)
    #expect(ErrnoTable.number(for: .inputOutput).rawValue == EIO)
    #expect(ErrnoTable.number(for: .noSpace).rawValue == ENOSPC)
    #expect(ErrnoTable.number(for: .noSuchOffset).rawValue == ENXIO)
    #expect(ErrnoTable.number(for: .attributeTooBig).rawValue == E2BIG)
    #expect(ErrnoTable.number(for: .noAttribute).rawValue == ENODATA)
  }
}
