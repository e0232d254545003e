import AlbumFormat
import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon
import Glibc
import ObjectStores
import Posix

struct Init: PasswordCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a store and its first space.",
    discussion: """
      Creates the directory if it is missing; an existing one must be empty, or hold what an interrupted \
      init left, which goes. A bucket must exist, and hold nothing below the prefix; an interrupted init \
      continues there when you run it again. Asks twice for the password of \
      the first space. Without its password or its recovery key nobody can read a space: write the key down \
      (`albumfs space recovery-key`).

        albumfs init ~/Album.store
        albumfs init /media/disk/Album.store --chaff 2G
        albumfs init s3://photos/album
      """)

  @Argument(help: "The directory to create, or s3://bucket/prefix.", completion: .directory)
  var store: String

  @Option(
    help: ArgumentHelp(
      """
      How much chaff to make: random bytes that no space owns. By default a random amount, less than a 64th \
      of the free space on the disk, and less than 4 GiB.
      """, valueName: "size"))
  var chaff: SizeArgument?

  @Option(
    help: ArgumentHelp(
      """
      Size of every file in the store, 256K to 64M. The default is 4M, and less on a disk with less than \
      8 GiB free.
      """, valueName: "size"))
  var segmentSize: SizeArgument?

  @Option(
    help: ArgumentHelp(
      """
      How costly it is to guess passwords, and so how long a mount takes: about half a second (moderate) or \
      some seconds (sensitive).
      """))
  var kdf = KDFArgument.moderate

  @OptionGroup var space: NewSpaceOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard segmentSize.map({ SegmentLayout.isValidByteCount(Int($0.bytes)) }) ?? true else {
      throw ValidationError("--segment-size takes 256K, 512K, 1M and so on up to 64M.")
    }
  }

  func run() throws {
    ProcessSetup.protectMemory()
    if case .bucket(let place) = try StorePlace(store) {
      try make(in: place)
    } else {
      _ = try make()
    }
    let word = UserConfiguration.shellWord(store)
    output.say(
      """
      Made \(UserConfiguration.abbreviated(store)). Write down its recovery key: \
      albumfs space recovery-key \(word)
      Mount it with: albumfs mount \(word) MOUNTPOINT
      """)
  }

  /// Makes the store on this machine, and brings it into the bucket.
  private func make(in place: S3Place) throws {
    let room = try RemoteRoom(place)
    if room.isBegun {
      Terminal.complain(
        "going on with the store that an interrupted init has made for \(place); its password is the one that "
          + "was typed then")
    } else {
      try room.requireEmpty()
      _ = try make(at: room.path)
    }
    try room.send(output)
  }

  /// Makes the store; returns the password of its space.
  func make() throws -> SecretBytes { try make(at: MountPath.resolve(store)) }

  private func make(at path: String) throws -> SecretBytes {
    let room = try StoreRoom.find(path)
    var options = StoreOptions()
    let secret = try password.askForNew("New password: ", salt: options.securityKeySalt)
    options.cost = kdf.cost
    options.cipher = space.cipher.kind
    options.chaffByteCount = chaff?.bytes
    // A signal ends the command only where something is left to remove.
    Interruption.collect()
    do {
      try write(options, secret, try room.make())
    } catch {
      room.giveUp()
      if Interruption.wasAsked { throw Failure(.interrupted, "Interrupted; nothing was made.") }
      throw error
    }
    room.finish()
    Interruption.install()
    return secret
  }

  private func write(
    _ options: StoreOptions, _ secret: borrowing SecretBytes, _ directory: PosixDirectory
  ) throws {
    var options = options
    let available = (try? directory.capacity())?.availableBytes ?? .max
    options.segmentSize =
      segmentSize.map { Int($0.bytes) } ?? SegmentLayout.byteCount(on: available)
    let bar = ProgressBar("Writing chaff, random data that no space owns:", isShown: !output.quiet)
    options.chaffProgress = {
      bar.show($0, of: $1)
      return !Interruption.wasAsked
    }
    if let chaff, chaff.bytes > 0 {
      let segment = Int64(options.segmentSize)
      try ChaffRoom.require((chaff.bytes - 1) / segment + 1, segment, available)
    }
    let made = try StoreCommands.reporting(changing: true) { () throws(StoreError) in
      defer { bar.clear() }
      return try Store.create(in: directory, options: options, password: secret) {
        (store, keys) throws(StoreError) in
        try Space.create(in: store, keys: keys, options: space.options)
      }
    }
    StoreCommands.warn(of: made)
  }
}
