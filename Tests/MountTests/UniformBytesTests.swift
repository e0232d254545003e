import AlbumTestSupport
import Foundation
import Testing

/// Every byte of a store except its two confs is as random as any other, whatever wrote it. Encryption tools
/// have written sectors of zeros into "random" space for years, and nobody noticed.
@Suite(.serialized) struct UniformBytesTests {
  private func examine(_ mounted: MountedStore, _ when: String) throws {
    let found = try UniformStore(mounted.store)
    #expect(found.faults == [], "\(when)")
    #expect(found.fileCount >= 2, "\(when)")
  }

  private static let options = ["--segment-size", "256K"]

  // Each way in which bytes get into a store. A new way needs one more test, which calls `examine`.

  @Test func afterBirthUseUnmountAndAChangedPassword() throws {
    try MountedStore.use(initOptions: Self.options, content: nil) { mounted in
      try examine(mounted, "init and mount")
      try use(mounted)
      try examine(mounted, "use")
      try mounted.unmount()
      try examine(mounted, "unmount")
      try mounted.setPassword("a new one", "password-new")
      try mounted.sh(
        "albumfs space password -q --password-file $P --new-password-file $W/../password-new $S")
      try examine(mounted, "space password")
      try mounted.setPassword("another one", "password-2")
      try mounted.sh("albumfs space add -q --password-file $W/../password-2 $S")
      try examine(mounted, "space add")
      try mounted.sh("albumfs space destroy -q --yes --password-file $W/../password-2 $S")
      try examine(mounted, "space destroy")
    }
  }

  /// Slots are sealed, replaced by random bytes and added in each of these.
  @Test func afterFurtherPasswordsAndARecovery() throws {
    try MountedStore.use(initOptions: Self.options + ["--chaff", "512K"], content: nil) { mounted in
      try mounted.unmount()
      for name in ["second", "third", "new"] { try mounted.setPassword(name, "password-\(name)") }
      func run(_ command: String) throws {
        try mounted.sh("R=$W/../password; albumfs space \(command)")
        try examine(mounted, command)
      }
      try run("add-key -q --password-file $R --new-password-file $R-second $S")
      try run("add-key -q --password-file $R-second --new-password-file $R-third $S")
      try run("remove-key -q --password-file $R-second $S")
      try run("remove-key -q --others --password-file $R-third $S")
      try mounted.sh(
        "albumfs space recovery-key --password-file $W/../password-third $S > $W/../password-key")
      let recovery = "--recovery-key --password-file $R-key --new-password-file"
      try run("add-key -q \(recovery) $R-second $S")
      try run("password -q \(recovery) $R-new $S")
      try run("destroy -q --yes --remove-segments --password-file $R-new $S")
    }
  }

  @Test(arguments: ["xchacha20-poly1305", "aes-256-gcm"])
  func withEachCipher(cipher: String) throws {
    try MountedStore.use(initOptions: Self.options + ["--cipher", cipher], content: nil) {
      mounted in
      try mounted.sh("mkdir $M/A; head -c 700K /dev/zero > $M/A/zeros")
      try mounted.unmount()
      try examine(mounted, cipher)
    }
  }

  @Test func afterAKillAndTheNextMount() throws {
    try MountedStore.use(initOptions: Self.options + ["--chaff", "0"], content: nil) { mounted in
      try use(mounted)
      try mounted.sh("head -c 700K /dev/zero > $M/.plain/last")
      try mounted.kill()
      try examine(mounted, "kill")
      try mounted.mount()
      try mounted.sh("echo more > $M/.plain/more")
      try mounted.unmount()
      try examine(mounted, "the mount after a kill")
    }
  }

  @Test func afterCompactionAndChaff() throws {
    try MountedStore.use(
      initOptions: Self.options + ["--chaff", "512K"], mountOptions: ["--grace", "0"], content: nil
    ) { mounted in
      try use(mounted)
      try mounted.sh("rm $M/.plain/*[13579]; albumfs compact -q $M; albumfs chaff add -q $S 1M")
      try examine(mounted, "compaction and chaff")
    }
  }

  @Test func afterARepair() throws {
    let mounted = try MountedStore(initOptions: Self.options + ["--chaff", "0"], content: nil)
    defer { mounted.abandon() }
    try mounted.mount()
    try use(mounted)
    try mounted.unmount()
    // The damage is random bytes too, because the test examines what albumfs writes.
    try mounted.python(
      """
      paths = [os.path.join(top, name) for top, _, names in os.walk(S + "/segments") for name in names]
      for path in sorted(paths, key=os.path.getctime)[-3:]:
          with open(path, "r+b") as file: file.seek(70_000); file.write(os.urandom(9_000))
      """)
    let outcome = try mounted.outcome("albumfs check --repair --password-file $P $S")
    #expect(outcome.code == 26, "\(outcome.errors)")
    #expect(outcome.output.contains("repair"), "\(outcome.output)")
    try examine(mounted, "repair")
  }

  @Test(.enabled(if: SmallDisk.isPossible, "needs root and loop devices"))
  func onAFullDisk() throws {
    let disk = try SmallDisk(.ext4, mebibytes: 32)
    defer { disk.remove() }
    try MountedStore.use(
      initOptions: Self.options, storeIn: disk.path, hasChaff: true, content: nil
    ) {
      mounted in
      try use(mounted)
      _ = try mounted.outcome("head -c 64M /dev/zero > $M/.plain/large")
      try examine(mounted, "full disk")
      try disk.fill()
      _ = try mounted.outcome("head -c 64K /dev/zero > $M/.plain/small; rm $M/.plain/large")
      try examine(mounted, "full to the last byte")
      try disk.free()
    }
  }

  /// The test finds zeros, text or repetitions, however large the file around them.
  @Test func theTestWouldFindOneSectorOfZeros() {
    let random = (0..<1 << 20).map { _ in UInt8.random(in: 0...255) }
    #expect(UniformBytes(random).fault == nil)
    for place in [0, 512, 700_000 / 512 * 512, (1 << 20) - 512] {
      var bytes = random
      bytes.replaceSubrange(place..<place + 512, with: [UInt8](repeating: 0, count: 512))
      #expect(UniformBytes(bytes).fault != nil, "zeros at \(place)")
      // A counter, in which each value comes twice as often as in random bytes.
      bytes.replaceSubrange(
        place..<place + 512, with: (0..<512).map { UInt8(truncatingIfNeeded: $0) })
      #expect(UniformBytes(bytes).fault != nil, "a counter at \(place)")
    }
    // Bytes with one bit set too often, in one of a hundred bytes.
    let biased = random.map { UInt8.random(in: 0..<50) == 0 ? $0 | 1 : $0 }
    #expect(UniformBytes(biased).fault != nil)
    #expect(UniformBytes([UInt8](repeating: 65, count: 100)).fault != nil)
  }

  private func use(_ mounted: MountedStore) throws {
    try mounted.write(PictureSet.shared.get().some, into: "pictures")
    try mounted.sh(
      """
      mkdir $M/A $M/.plain; cp $W/pictures/* $M/A/Photo/
      for number in $(seq 1 20); do head -c $((number * 4321)) /dev/zero > $M/.plain/$number; done
      """)
    try mounted.sync()
  }
}
