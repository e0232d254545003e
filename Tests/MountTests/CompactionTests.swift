import AlbumTestSupport
import Foundation
import Testing

/// The room of removed photos comes back, and users of the space notice nothing else.
@Suite(.serialized) struct CompactionTests {
  /// Makes photos of two albums, of which the second will be removed. There is no chaff, because it would
  /// count.
  private func fill(_ mounted: MountedStore) throws {
    try mounted.keepNoDeletedFiles()
    try mounted.python(
      """
      random.seed(21)
      os.mkdir(M + "/Trip"); os.mkdir(M + "/Other"); os.mkdir(M + "/.plain")
      for number in range(180):
          for album in ("Trip", "Other"):
              put(f"{M}/{album}/Photo/IMG_{number}.jpg", random.randbytes(random.randrange(20_000, 700_000)))
      for number in range(300):
          put(f"{M}/.plain/{number % 2} {number}", random.randbytes(random.randrange(1, 9_000)))
      """)
    try mounted.sync()
  }

  private static let removeHalf = "rm -r $M/Other; rm $M/.plain/1*"
  private static let sums = "cd $M; find Trip .plain -type f | sort | xargs -d '\\n' sha256sum"
  private static let livingBytes =
    "find $M/Trip $M/.plain -type f -printf '%s\\n' | awk '{ sum += $1 } END { print sum }'"

  private func number(_ mounted: MountedStore, _ script: String) throws -> Double {
    let text = try mounted.sh(script)
    return try #require(Double(text))
  }

  private func fileBytes(_ mounted: MountedStore) throws -> Double {
    try number(
      mounted,
      "find $S/segments -ignore_readdir_race -type f -printf '%s\\n' | awk '{ sum += $1 } END { print sum }'"
    )
  }

  @Test func afterHalfOfThePhotosAreRemovedTheStoreTakesLittleMoreThanTheOthers() throws {
    let options = ["--grace", "0"]
    try MountedStore.use(initOptions: ["--chaff 0"], mountOptions: options) { mounted in
      try fill(mounted)
      try mounted.sh(Self.removeHalf)
      let sums = try mounted.sh(Self.sums)
      let before = try fileBytes(mounted)
      // Another process reads all the time.
      let reader = """
        (while [ ! -e $W/end ]; do (\(Self.sums)) > $W/seen; cmp $W/seen $W/sums; done \
        && echo well > $W/verdict) > $W/reader 2>&1 &
        """
      try sums.appending("\n").write(
        toFile: mounted.work + "/sums", atomically: false, encoding: .utf8)
      try mounted.sh(reader)
      let told = try mounted.sh("albumfs compact $M")
      #expect(told.contains("Freed "))
      try mounted.sh("touch $W/end; await test -e $W/verdict || true")
      #expect(try mounted.sh("cat $W/reader $W/verdict") == "well")
      let after = try fileBytes(mounted)
      let living = try number(mounted, Self.livingBytes)
      #expect(after <= 1.15 * living, "\(after) for \(living), before \(before)")
      #expect(try mounted.sh(Self.sums) == sums)
      try mounted.remount(options)
      #expect(try mounted.sh(Self.sums) == sums)
      #expect(try mounted.status().recovery.isEmpty)
    }
  }

  @Test func unneededSegmentsStayForTheGraceTimeAndStatusCountsThem() throws {
    try MountedStore.use(initOptions: ["--chaff 0"]) { mounted in
      try fill(mounted)
      try mounted.sh(Self.removeHalf)
      let before = try fileBytes(mounted)
      let told = try mounted.sh("albumfs compact --json $M")
      let json = try JSONSerialization.jsonObject(with: Data(told.utf8))
      let answer = try #require(json as? [String: Any])
      #expect(answer["freed"] as? Int == 0)
      #expect(answer["graceSeconds"] as? Int == 900)
      #expect(answer["waiting"] as? Double ?? 0 > 0.4 * before)
      #expect(try fileBytes(mounted) >= before)
      #expect(try mounted.sh("albumfs compact $M").contains("more will be freed within 15 minutes"))
    }
  }

  @Test func compactionRunsByItself() throws {
    try MountedStore.use(initOptions: ["--chaff 0"], mountOptions: ["--grace", "0"]) { mounted in
      try fill(mounted)
      try mounted.sh(Self.removeHalf)
      let living = try number(mounted, Self.livingBytes)
      #expect(try eventually { try fileBytes(mounted) <= 1.15 * living })
    }
  }

  @Test func aReadOnlyMountAndAMissingMountGiveDifferentErrors() throws {
    try MountedStore.use { mounted in
      try mounted.remount(["--read-only"])
      let refused = try mounted.outcome("albumfs compact $M")
      #expect(refused.code == 11)
      #expect(refused.errors.contains("read-only"))
      #expect(try mounted.outcome("albumfs compact /").code == 41)
      #expect(try mounted.outcome("albumfs mount --grace -5 $S $M").code == 1)
    }
  }
}
