// swift-tools-version: 6.2
import PackageDescription

// Targets are listed bottom first: a target may import only targets above it that its own dependencies name.
// TidyTests checks every `import` line against this list.

let settings: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableExperimentalFeature("Lifetimes"),
]

/// Targets in which tests compute most. Their debug build is optimised, because generic code that is not
/// specialised would take most of the time of the tests. It keeps every assertion. A whole build, which
/// `scripts/test` makes, takes half the time for each if it compiles the module at once. A build after a
/// change takes less if it compiles each file by itself.
let optimised: Set = [
  "AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets", "AlbumStore", "AlbumFileSystem",
  "PictureDecoders",
  "PhotoSearch", "AlbumTestSupport",
]

/// Targets that parse, ask, report and start programs, and handle no content themselves. Their release build
/// is not optimised: the optimiser takes three quarters of its time and gains them nothing.
let unhurried: Set = [
  "albumfs", "albumfs-fetch", "albumfs-fido2", "albumfs-remote", "AlbumCheck", "ControlProtocol",
  "Daemon",
  "Fetching", "NetworkCell", "ObjectStores",
  "SecurityKeyProtocol", "Traces",
]

/// Every module is optimised by itself, so that a change within one compiles that one alone. For size: the
/// bytes of photos pass through libsodium, the kernel and the decoders, no row of `scripts/bench` shows a
/// difference, and the optimiser takes a tenth less time. `-Xfrontend` makes the level stronger than one on
/// the command line, with which `scripts/build-release` spares the packages.
func settings(of name: String) -> [SwiftSetting] {
  let level =
    unhurried.contains(name) ? ["-Onone", "-assert-config", "Release"] : ["-Xfrontend", "-Osize"]
  var flags = settings + [.unsafeFlags(["-disable-cmo"] + level, .when(configuration: .release))]
  if optimised.contains(name) {
    let isWhole = Context.environment["ALBUMFS_WHOLE_MODULES"] != nil
    let unit = isWhole ? ["-whole-module-optimization", "-num-threads", "2"] : []
    flags.append(
      .unsafeFlags(["-O", "-assert-config", "Debug"] + unit, .when(configuration: .debug)))
  }
  return flags
}

func library(
  _ name: String, _ dependencies: [Target.Dependency] = [], excluding folders: [String] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, exclude: folders, swiftSettings: settings(of: name))
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, swiftSettings: settings(of: name))
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

func clibrary(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/C/\(name)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

/// A product that only the gallery needs: without the trait, SwiftPM neither fetches nor builds it.
func web(_ name: String, _ package: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: ["Gallery"]))
}

let hummingbird = web("Hummingbird", "hummingbird")
let hummingbirdCore = web("HummingbirdCore", "hummingbird")
let nio = web("NIOCore", "swift-nio")
let nioPosix = web("NIOPosix", "swift-nio")
let nioHTTP1 = web("NIOHTTP1", "swift-nio")
let nioTLS = web("NIOTLS", "swift-nio")
let nioSSL = web("NIOSSL", "swift-nio-ssl")
let nioHTTP2 = web("NIOHTTP2", "swift-nio-http2")
let nioHTTPTypes = web("NIOHTTPTypes", "swift-nio-extras")
let nioHTTPTypesHTTP2 = web("NIOHTTPTypesHTTP2", "swift-nio-extras")
let httpTypes = web("HTTPTypes", "swift-http-types")

let package = Package(
  name: "albumfs",
  products: [
    .executable(name: "albumfs", targets: ["albumfs"]),
    .executable(name: "albumfs-thumbnailer", targets: ["albumfs-thumbnailer"]),
    .executable(name: "albumfs-video-thumbnailer", targets: ["albumfs-video-thumbnailer"]),
    .executable(name: "albumfs-fido2", targets: ["albumfs-fido2"]),
    .executable(name: "albumfs-fetch", targets: ["albumfs-fetch"]),
    .executable(name: "albumfs-remote", targets: ["albumfs-remote"]),
    .executable(name: "albumfs-gallery", targets: ["albumfs-gallery"]),
  ],
  traits: [
    .trait(
      name: "Gallery", description: "The gallery for browsers, and the packages that only it needs."
    ),
    .default(enabledTraits: ["Gallery"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
    .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
    .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
  ],
  targets: [
    // C libraries, each wrapped by one Swift file.
    // glibc's checks of buffer sizes need optimised code.
    .target(
      name: "CLinux", path: "Sources/C/CLinux",
      cSettings: [.define("_FORTIFY_SOURCE", to: "3", .when(configuration: .release))]),
    .target(
      name: "CFreshMemory", path: "Sources/C/CFreshMemory",
      cSettings: [.define("_FORTIFY_SOURCE", to: "3", .when(configuration: .release))]),
    clibrary("CSodium", "libsodium", "libsodium-dev"),
    // pkg-config's flags for utf8proc contain a macro that SwiftPM refuses with a warning, and zxcvbn has no
    // flags: both libraries are on the compiler's default paths.
    .systemLibrary(
      name: "CUtf8proc", path: "Sources/C/CUtf8proc", providers: [.apt(["libutf8proc-dev"])]),
    .systemLibrary(
      name: "CZxcvbn", path: "Sources/C/CZxcvbn", providers: [.apt(["libzxcvbn-dev"])]),
    clibrary("CZlib", "zlib", "zlib1g-dev"),
    clibrary("CFuse3", "fuse3", "libfuse3-dev"),
    clibrary("CUring", "liburing", "liburing-dev"),
    // pkg-config's flags for vips itself contain -pthread, which SwiftPM refuses with a warning; its
    // headers need only those of GObject.
    clibrary("CVips", "gobject-2.0", "libvips-dev"),
    clibrary("CTiff", "libtiff-4", "libtiff-dev"),
    clibrary("CSeccomp", "libseccomp", "libseccomp-dev"),
    .systemLibrary(
      name: "CLibAV", path: "Sources/C/CLibAV",
      providers: [.apt(["libavformat-dev", "libswscale-dev"])]),
    // pkg-config's flags for libfido2 link libcrypto, which albumfs does not call; the library itself is on
    // the compiler's default paths.
    .systemLibrary(name: "CFido2", path: "Sources/C/CFido2", providers: [.apt(["libfido2-dev"])]),
    // pkg-config's flags for libcurl name only default paths.
    .systemLibrary(
      name: "CCurl", path: "Sources/C/CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),

    // The core: a store, its spaces and their albums. It does not know FUSE.
    library("AlbumModel"),
    // What a file is: signatures, brands and endings of pictures and films.
    library("FileKinds"),
    library("Posix", ["AlbumModel", "CLinux"]),
    library("AlbumFormat", ["AlbumModel"]),
    library("Inflating", ["CZlib"]),
    // What other programs leave about the files of a mount.
    library("Traces", ["AlbumModel", "Inflating", "Posix"]),
    // What the containers of pictures say: dates of capture, orientation, embedded previews.
    library("PictureMetadata", ["AlbumModel", "FileKinds", "Inflating"]),
    // Which files of a folder belong together: a photo with its sidecars, its film, its edited twin.
    library("PhotoGroups", ["AlbumModel", "FileKinds"]),
    // Which photos a space has more than once.
    library("PhotoDuplicates", ["AlbumModel", "FileKinds", "PhotoGroups", "Posix"]),
    // Kinds of pictures that no library decodes, and light that no screen shows.
    library("PictureDecoders"),
    // Spellings of texts.
    library("UnicodeForms", ["CUtf8proc"]),
    // What words find which photos.
    library("PhotoSearch", ["AlbumModel", "FileKinds", "UnicodeForms"]),
    library(
      "AlbumSecrets",
      ["CSodium", "CZxcvbn", "UnicodeForms", "Posix", "AlbumModel", "AlbumFormat"]),
    library(
      "AlbumStore", ["AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets", logging]),
    library(
      "AlbumFileSystem",
      [
        "AlbumModel", "FileKinds", "Posix", "AlbumFormat", "AlbumStore", "PictureMetadata",
        "PhotoGroups", logging,
      ]),

    // Checking and repairing a space that is not mounted: judges what the store found, by the rules of
    // albums.
    library(
      "AlbumCheck",
      ["AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets", "AlbumStore", "AlbumFileSystem"]),

    // What a confined process may ask of the kernel.
    library("SystemCallFilter", ["CSeccomp"]),

    // Programs that speak to servers: their confinement, and libcurl behind its fence.
    library("NetworkCell", ["CLinux", "SystemCallFilter", "CCurl"]),

    // Thumbnails: the queue in the daemon, the decoder in a cell of its own.
    library("ThumbnailProtocol", ["AlbumModel", "FileKinds"]),
    library(
      "Thumbnails", ["AlbumModel", "FileKinds", "Posix", "CLinux", "ThumbnailProtocol", logging]),
    library(
      "ThumbnailCell",
      ["FileKinds", "ThumbnailProtocol", "SystemCallFilter", "CLinux", "CFreshMemory"]),
    program(
      "albumfs-thumbnailer",
      [
        "AlbumModel", "FileKinds", "ThumbnailProtocol", "ThumbnailCell", "PictureMetadata",
        "PictureDecoders", "CVips", "CTiff", "CLinux",
      ]),
    // Optional: everything else builds and works without it.
    library(
      "VideoPosters",
      [
        "AlbumModel", "FileKinds", "ThumbnailProtocol", "PictureMetadata", "PictureDecoders",
        "CLibAV",
      ]),
    program(
      "albumfs-video-thumbnailer",
      ["AlbumModel", "FileKinds", "ThumbnailProtocol", "ThumbnailCell", "VideoPosters"]),

    // Security keys: the words of the conversation, and the program that calls libfido2.
    library("SecurityKeyProtocol", ["AlbumModel"]),
    program("albumfs-fido2", ["SecurityKeyProtocol", "AlbumSecrets", "Posix", "CLinux", "CFido2"]),

    // Files from the web: the conversation, and the program that calls libcurl.
    library("Fetching", ["AlbumModel", "FileKinds", "Posix", "ThumbnailProtocol"]),
    program("albumfs-fetch", ["Fetching", "NetworkCell", "Posix"]),

    // Stores in an object storage: objects by their names, the conversation with the program that speaks to
    // servers, and copies of whole stores.
    library("ObjectStores", ["AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets"]),
    program("albumfs-remote", ["ObjectStores", "NetworkCell"]),

    // The kernel interface, the daemon that assembles the parts, and the command line.
    library(
      "FUSEDriver", ["AlbumModel", "Posix", "AlbumFileSystem", "CFuse3", "CUring", logging]),
    library("ControlProtocol", ["AlbumModel", "Posix", "CLinux"]),
    library(
      "Daemon",
      [
        "AlbumModel", "Posix", "CLinux", "AlbumFormat", "AlbumSecrets", "AlbumStore",
        "AlbumFileSystem", "ThumbnailProtocol", "Thumbnails", "FUSEDriver", "ControlProtocol",
        logging,
      ]),
    program(
      "albumfs",
      [
        "AlbumModel", "FileKinds", "Posix", "CLinux", "AlbumFormat", "AlbumSecrets", "AlbumStore",
        "AlbumCheck", "ThumbnailProtocol", "SecurityKeyProtocol", "ControlProtocol", "Daemon",
        "Inflating", "Traces", "PictureMetadata", "PhotoGroups", "PhotoSearch", "PhotoDuplicates",
        "Fetching", "ObjectStores", arguments,
        logging,
      ]),

    // The gallery for browsers: a process of its own, without keys. It works on mounted spaces by ordinary
    // file calls.
    clibrary("CQRencode", "libqrencode", "libqrencode-dev"),
    .target(name: "CGalleryPages", path: "Sources/C/CGalleryPages"),
    clibrary("CArchive", "libarchive", "libarchive-dev"),
    clibrary("CCrypto", "libcrypto", "libssl-dev"),
    library(
      "Gallery",
      [
        "AlbumModel", "FileKinds", "Posix", "ThumbnailProtocol", "ControlProtocol", "Fetching",
        "PictureMetadata", "PhotoGroups", "PhotoSearch", "PhotoDuplicates",
        "CQRencode", "CArchive", "CCrypto", "CGalleryPages", hummingbird, hummingbirdCore, nio,
        nioPosix, nioHTTP1, nioTLS, nioSSL,
        nioHTTP2,
        nioHTTPTypes, nioHTTPTypesHTTP2, httpTypes, logging,
      ], excluding: ["Pages"]),
    program("albumfs-gallery", ["Posix", "ControlProtocol", "Gallery"]),

    // Tests mirror Sources.
    .systemLibrary(
      name: "CTestVips", path: "Tests/CTestVips", pkgConfig: "gobject-2.0",
      providers: [.apt(["libvips-dev"])]),
    .target(
      name: "AlbumTestSupport",
      dependencies: [
        "AlbumModel", "Posix", "ObjectStores", "CLinux", "CTestVips", "AlbumFormat", "AlbumSecrets",
        "AlbumStore",
        "AlbumFileSystem", "AlbumCheck",
      ],
      path: "Tests/AlbumTestSupport", swiftSettings: settings(of: "AlbumTestSupport")),
    tests("AlbumModelTests", ["AlbumModel"]),
    tests("PosixTests", ["AlbumModel", "Posix", "AlbumTestSupport"]),
    tests("PhotoGroupsTests", ["AlbumModel", "PhotoGroups"]),
    tests("PhotoSearchTests", ["AlbumModel", "PhotoSearch"]),
    tests("PhotoDuplicatesTests", ["AlbumModel", "Posix", "PhotoDuplicates", "AlbumTestSupport"]),
    tests("FileKindsTests", ["FileKinds", "PictureMetadata"]),
    tests(
      "PictureMetadataTests", ["AlbumModel", "FileKinds", "PictureMetadata", "AlbumTestSupport"]),
    tests(
      "FetchingTests",
      ["AlbumModel", "FileKinds", "Posix", "ThumbnailProtocol", "Fetching", "AlbumTestSupport"]),
    tests(
      "ObjectStoreTests",
      [
        "AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets", "ObjectStores", "AlbumTestSupport",
        "albumfs-remote",
      ]),
    tests("TracesTests", ["AlbumModel", "Posix", "Traces", "AlbumTestSupport"]),
    tests("AlbumFormatTests", ["AlbumModel", "AlbumFormat", "AlbumTestSupport"]),
    tests("AlbumSecretsTests", ["AlbumModel", "AlbumFormat", "AlbumSecrets", "AlbumTestSupport"]),
    tests(
      "AlbumStoreTests",
      [
        "AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets", "AlbumStore", "AlbumCheck",
        "ObjectStores", "AlbumTestSupport", logging,
      ]),
    tests(
      "AlbumFileSystemTests",
      [
        "AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets", "AlbumStore", "AlbumFileSystem",
        "AlbumTestSupport", logging,
      ]),
    tests(
      "DamageTests",
      [
        "AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets", "AlbumStore", "AlbumFileSystem",
        "AlbumCheck", "AlbumTestSupport", logging,
      ]),
    tests(
      "ThumbnailTests",
      [
        "AlbumModel", "FileKinds", "Posix", "CLinux", "ThumbnailProtocol", "Thumbnails",
        "PictureDecoders", "VideoPosters", "AlbumTestSupport",
        "albumfs-thumbnailer", "albumfs-video-thumbnailer", logging,
      ]),
    tests(
      "CrashTests",
      [
        "AlbumModel", "Posix", "AlbumFormat", "AlbumSecrets", "AlbumStore", "AlbumFileSystem",
        "AlbumCheck", "ObjectStores", "AlbumTestSupport", logging,
      ]),
    tests(
      "FUSEDriverTests",
      [
        "AlbumModel", "Posix", "AlbumSecrets", "AlbumStore", "AlbumFileSystem", "FUSEDriver",
        "AlbumTestSupport", logging,
      ]),
    tests(
      "CLITests",
      [
        "AlbumModel", "Posix", "AlbumCheck", "ControlProtocol", "SecurityKeyProtocol",
        "ObjectStores", "AlbumTestSupport", "albumfs", "albumfs-fido2", arguments,
      ]),
    tests(
      "MountTests",
      [
        "AlbumTestSupport", "albumfs", "albumfs-thumbnailer", "albumfs-video-thumbnailer",
        "albumfs-fetch", "albumfs-remote",
      ]),
    tests(
      "GalleryTests",
      [
        "AlbumModel", "Posix", "Gallery", "AlbumTestSupport", "albumfs", "albumfs-thumbnailer",
        "albumfs-gallery", "albumfs-fetch",
      ]),
    tests("TidyTests", []),
  ]
)

// `scripts/build-release` makes several programs in one build, which SwiftPM does for the dependencies of a
// target.
if let names = Context.environment["ALBUMFS_PROGRAMS"] {
  package.targets.append(
    .target(
      name: "Programs", dependencies: names.split(separator: " ").map { .target(name: String($0)) },
      path: "scripts/programs"))
}

// Only `scripts/fuzz` builds the fuzzers: they link libFuzzer, whose `main` calls theirs, and so build only
// with its sanitizers.
if Context.environment["ALBUMFS_FUZZ"] != nil {
  // A program links libraries only. So the command line, which has parsers too, is one here, and its entry
  // gets a name that is not `main`.
  package.products = []
  if let place = package.targets.firstIndex(where: { $0.name == "albumfs" }) {
    let entry = ["-entry-point-function-name", "albumfs_main"].flatMap { ["-Xfrontend", $0] }
    package.targets[place] = .target(
      name: "albumfs", dependencies: package.targets[place].dependencies,
      swiftSettings: settings + [.unsafeFlags(entry)])
  }
  package.targets.append(
    .executableTarget(
      name: "albumfs-fuzz",
      dependencies: [
        "AlbumModel", "FileKinds", "Posix", "AlbumFormat", "AlbumSecrets", "AlbumStore",
        "AlbumFileSystem", "ThumbnailProtocol", "SecurityKeyProtocol", "ControlProtocol", "Traces",
        "PictureMetadata", "PhotoGroups",
        "PictureDecoders", "VideoPosters", "Fetching", "ObjectStores", "PhotoSearch", "albumfs",
        "AlbumTestSupport", logging,
      ],
      path: "Tests/Fuzz", swiftSettings: settings))
}
