import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// Random calls of several users have the same results in a mount as in a directory of a tmpfs, error by error.
@Suite(.serialized, .timeLimit(.minutes(30))) struct PosixComparisonTests {
  private static let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("PosixComparison/compare.py").path
  private static let count =
    ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] == nil ? 1_500 : 100_000

  private func compare(
    as person: MountedStore.Person, _ options: [String], users: String
  ) throws {
    try MountedStore.use(as: person, mountOptions: options) { mounted in
      // Every user must reach it; a name with a dot keeps the rules of albums out.
      let seed = UInt32(truncatingIfNeeded: SeededRandom().seed)
      try mounted.sh(
        """
        chmod 711 $W/..; mkdir $M/.plain; chmod 777 $M/.plain
        plain=$(mktemp -d /dev/shm/albumfs-test-XXXXXX); trap 'chmod -R u+rwx $plain; rm -rf $plain' EXIT; chmod 777 $plain
        /usr/bin/python3 -B \(Self.program) $M/.plain $plain \(seed) \(Self.count) \(users)
        """)
    }
  }

  @Test(.enabled(if: geteuid() == 0, "acts for several users"))
  func severalUsersInAMountOfRoot() throws {
    try compare(as: .tester, ["--allow-other"], users: "0,1001,1002")
  }

  @Test(.enabled(if: geteuid() == 0, "acts for several users"))
  func severalUsersWithAccessControlLists() throws {
    try compare(as: .tester, ["--allow-other", "-o", "acl"], users: "1001,0,1002")
  }

  @Test(.enabled(if: geteuid() == 0, "has a user without rights"), arguments: ["map", "keep"])
  func anOrdinaryUserInAMountOfTheirOwn(owner: String) throws {
    try compare(as: .ordinary, ["--owner", owner], users: "65534")
  }
}
