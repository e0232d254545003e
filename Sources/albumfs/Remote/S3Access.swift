import ArgumentParser
import ControlProtocol
import FoundationEssentials
import Glibc
import ObjectStores
import Posix

/// Where the server of an object storage is, and what it knows the user by. Takes what every S3 tool takes:
/// options, variables of the environment, the files below `~/.aws`.
struct S3Options: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The server of s3:// addresses, as https://host:port. Otherwise AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL \
      or endpoint_url of the profile says it, or else Amazon's server of the region is used.
      """, valueName: "url"))
  var endpoint: String?

  @Option(
    help: ArgumentHelp(
      "The region; otherwise AWS_REGION, AWS_DEFAULT_REGION or the profile says it, or else us-east-1.",
      valueName: "name"))
  var region: String?

  @Option(
    help: ArgumentHelp(
      """
      The profile of ~/.aws/credentials and ~/.aws/config that has the credentials; otherwise AWS_PROFILE \
      names it, or else it is default.
      """, valueName: "name"))
  var profile: String?

  @Option(
    help: ArgumentHelp(
      """
      Run this command for the credentials, which it prints as credential_process of ~/.aws/config does: \
      JSON with AccessKeyId, SecretAccessKey and perhaps SessionToken.
      """, valueName: "cmd"))
  var credentialsCommand: String?

  @Flag(help: "Permit http to another machine: whoever is on the way sees what the server sees.")
  var allowHTTP = false

  @Option(
    help: ArgumentHelp("How many requests are made at once, 1 to 64.", valueName: "n"))
  var connections = 8

  func validate() throws {
    if !(1...64).contains(connections) {
      throw ValidationError("--connections takes 1 to 64.")
    }
  }

  /// The store behind an address.
  func store(
    _ place: S3Place, _ isStopped: @escaping @Sendable () -> Bool,
    notice: @escaping @Sendable (ObjectError.Hindrance?) -> Void = { _ in }
  ) throws(Failure) -> S3Store {
    let access = try S3Access(self)
    let endpoint = try access.endpoint(allowingHTTP: allowHTTP)
    if endpoint.path.hasSuffix("/\(place.bucket)") {
      throw Failure(
        .usage,
        "The server's address \(endpoint.text) ends with the bucket, which \(place) names already. Leave it out "
          + "of the server's address.")
    }
    let program = HelperProgram.find("albumfs-remote")
    var options = S3StoreOptions()
    options.connections = connections
    options.isBucketInHost = access.isBucketInHost
    options.isStopped = isStopped
    options.notice = notice
    return S3Store(
      place, endpoint: endpoint, region: access.region, options: options,
      credentials: { _ throws(ObjectError) in try access.credentials() },
      lane: { () throws(LaneFault) in try RemoteProcess(program: program) })
  }
}

/// The settings that count, from all places.
struct S3Access: Sendable {
  let region: String
  /// True if the profile says that the bucket is in the name of the host.
  let isBucketInHost: Bool
  private let typedEndpoint: String?
  private let command: String?
  private let accessKey: String?
  private let secretKey: String?
  private let sessionToken: String?

  init(_ options: S3Options) throws(Failure) {
    let home = PathCalls.variable("HOME") ?? "/"
    func text(_ variable: String, _ name: String) -> String {
      let path = PathCalls.variable(variable) ?? "\(home)/.aws/\(name)"
      return String(decoding: (try? readWholeFile(path)) ?? [], as: UTF8.self)
    }
    let named = options.profile ?? PathCalls.variable("AWS_PROFILE")
    let profile = S3Profiles(
      named ?? "default", credentials: text("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
      configuration: text("AWS_CONFIG_FILE", "config"))
    if let named, !profile.exists {
      throw Failure(
        .remoteRefused, "Neither ~/.aws/credentials nor ~/.aws/config has the profile \(named).")
    }
    region =
      options.region ?? PathCalls.variable("AWS_REGION")
      ?? PathCalls.variable("AWS_DEFAULT_REGION") ?? profile["region"] ?? "us-east-1"
    if !S3Endpoint.isRegion(region) {
      throw Failure(
        .usage,
        "\(region.debugDescription) is no region: a name like us-east-1 has letters, digits and hyphens. "
          + "--region, AWS_REGION, AWS_DEFAULT_REGION or the profile says it.")
    }
    isBucketInHost = profile["s3.addressing_style"] == "virtual"
    typedEndpoint =
      options.endpoint ?? PathCalls.variable("AWS_ENDPOINT_URL_S3")
      ?? PathCalls.variable("AWS_ENDPOINT_URL") ?? profile["endpoint_url"]
    // A profile that the user names goes before the environment.
    let own = options.profile == nil ? PathCalls.variable("AWS_ACCESS_KEY_ID") : nil
    accessKey = own ?? profile["aws_access_key_id"]
    secretKey =
      own == nil ? profile["aws_secret_access_key"] : PathCalls.variable("AWS_SECRET_ACCESS_KEY")
    sessionToken =
      own == nil ? profile["aws_session_token"] : PathCalls.variable("AWS_SESSION_TOKEN")
    command = options.credentialsCommand ?? (accessKey == nil ? profile["credential_process"] : nil)
  }

  func endpoint(allowingHTTP: Bool) throws(Failure) -> S3Endpoint {
    guard let typedEndpoint else {
      guard let amazon = S3Endpoint.amazon(region) else {
        throw Failure(.usage, "\(region) is no region.")
      }
      return amazon
    }
    guard let endpoint = S3Endpoint(typedEndpoint) else {
      throw Failure(
        .usage,
        "The server of the object storage is given as https://host or https://host:port, without a user name; "
          + "a path behind it may only have letters, digits and the signs - . _ ~."
      )
    }
    if !allowingHTTP, !endpoint.isPrivate {
      throw Failure(
        .remoteRefused,
        "\(endpoint.text) is neither https nor on this machine: whoever is on the way would see each request. "
          + "Use https; copy and init have --allow-http, which permits it.")
    }
    return endpoint
  }

  /// Runs the command each time, because it knows when its credentials end.
  func credentials() throws(ObjectError) -> S3Credentials {
    if let command { return try S3Access.fromCommand(command) }
    guard let accessKey, let secretKey else { throw .refused(.credentials("none")) }
    guard
      let found = S3Credentials(
        accessKey: accessKey, secretKey: secretKey, sessionToken: sessionToken)
    else { throw .refused(.credentials("malformed")) }
    return found
  }

  private struct Printed: Decodable {
    var AccessKeyId: String
    var SecretAccessKey: String
    var SessionToken: String?
  }

  private static func fromCommand(_ command: String) throws(ObjectError) -> S3Credentials {
    let result: (code: Int32, output: [UInt8])
    do throws(Errno) {
      result = try Subprocess.run(["sh", "-c", command], input: [])
    } catch {
      throw .refused(.credentials("command"))
    }
    guard result.code == 0,
      let printed = try? JSONDecoder().decode(Printed.self, from: Data(result.output)),
      let found = S3Credentials(
        accessKey: printed.AccessKeyId, secretKey: printed.SecretAccessKey,
        sessionToken: printed.SessionToken)
    else { throw .refused(.credentials("command")) }
    return found
  }
}
