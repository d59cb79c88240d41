// rendezvous.cpp — the listening socket, the strangers before it, and the invitation.
#include "runtime/rendezvous.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <istream>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::runtime {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t strangers_max = 32;
constexpr std::size_t wrong_secrets_max = 16;
constexpr auto stranger_time = 1s;
constexpr auto proof_time = 10s;  // for who has begun to prove himself
constexpr auto pause_without_descriptors = 50ms;

constexpr const char* rendezvous_variable = "UKEMI_RENDEZVOUS";
constexpr const char* worker_variable = "UKEMI_WORKER";
constexpr const char* secret_variable = "UKEMI_SECRET";
constexpr const char* slot_variable = "UKEMI_SLOT";

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// Whole and decimal, or nothing.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<Secret> secret_in(std::string_view text) {
    Secret secret{};
    if (text.size() != 2 * secret.size()) return std::nullopt;
    for (std::size_t i = 0; i < secret.size(); ++i) {
        const char* begin = text.data() + 2 * i;
        const auto [end, error] = std::from_chars(begin, begin + 2, secret[i], 16);
        if (error != std::errc() || end != begin + 2) return std::nullopt;
    }
    return secret;
}

struct RendezvousText {
    std::vector<SocketAddress> addresses;
    std::string news;
};

// "10.0.0.1:7421,10.0.0.2:7421", and perhaps ",/a/file" in the end; nothing for anything else.
std::optional<RendezvousText> rendezvous_in(std::string_view text) {
    RendezvousText found;
    for (;;) {
        const std::size_t end = text.find(',');
        const std::string_view part = text.substr(0, end);
        const bool is_last = end == std::string_view::npos;
        const bool is_news = is_last && part.starts_with('/') && !found.addresses.empty();
        const auto address = SocketAddress::of_text(part);
        if (!address && !is_news) return std::nullopt;
        if (is_news) found.news = part;
        if (address) found.addresses.push_back(*address);
        if (is_last) return found;
        text.remove_prefix(end + 1);
    }
}

TakenInvitation invitation_of(const char* rendezvous, const char* worker, const char* secret,
                              const char* slot) {
    const auto problem = [](const char* name, const char* expected) {
        return TakenInvitation{std::nullopt, fmt::format("{}: expected {}", name, expected)};
    };
    const auto parsed = secret == nullptr ? std::nullopt : secret_in(secret);
    if (!parsed) return problem(secret_variable, "64 hexadecimal digits");
    auto found = rendezvous == nullptr ? std::nullopt : rendezvous_in(rendezvous);
    if (!found) return problem(rendezvous_variable, "an address in numbers and a port");
    const auto number = worker == nullptr ? std::nullopt : number_in<std::uint32_t>(worker);
    if (!number) return problem(worker_variable, "a worker's number");
    const auto place = slot == nullptr ? number : number_in<std::uint32_t>(slot);
    if (!place) return problem(slot_variable, "a worker's place on its machine");
    const SocketAddress first = found->addresses.front();
    found->addresses.erase(found->addresses.begin());
    return {Invitation{first, *number, *parsed, std::move(found->addresses), found->news, *place},
            {}};
}

constexpr std::string_view agent_identity = "ukemi agent";
constexpr std::size_t agent_name_bytes_max = 40;
constexpr std::uint32_t agent_slots_max = 4096;

// Whose key a worker shows.
std::string identity_of(std::uint32_t worker) { return fmt::format("ukemi worker {}", worker); }

}  // namespace

Secret random_secret() {
    Secret secret{};
    std::size_t filled = 0;
    while (filled < secret.size()) {
        const ssize_t got = ::getrandom(secret.data() + filled, secret.size() - filled, 0);
        if (got < 0 && errno != EINTR) fail("getrandom");
        if (got > 0) filled += static_cast<std::size_t>(got);
    }
    return secret;
}

bool same_secret(const Secret& left, const Secret& right) {
    unsigned difference = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        difference |= static_cast<unsigned>(left[i]) ^ static_cast<unsigned>(right[i]);
    }
    return difference == 0;
}

std::vector<std::string> environment_of(const Invitation& invitation) {
    std::string addresses = invitation.address.text();
    for (const SocketAddress& other : invitation.others) addresses += "," + other.text();
    if (!invitation.news.empty()) addresses += "," + invitation.news;
    std::string secret;
    for (const std::uint8_t byte : invitation.secret) secret += fmt::format("{:02x}", byte);
    return {fmt::format("{}={}", rendezvous_variable, addresses),
            fmt::format("{}={}", worker_variable, invitation.worker),
            fmt::format("{}={}", slot_variable, invitation.slot),
            fmt::format("{}={}", secret_variable, secret)};
}

TakenInvitation take_invitation() {
    const char* rendezvous = std::getenv(rendezvous_variable);
    const char* worker = std::getenv(worker_variable);
    char* secret = std::getenv(secret_variable);
    TakenInvitation taken = invitation_of(rendezvous, worker, secret, std::getenv(slot_variable));
    if (secret != nullptr) {
        ::explicit_bzero(secret, std::strlen(secret));
        ::unsetenv(secret_variable);
    }
    return taken;
}

TakenInvitation read_invitation(std::istream& in) {
    std::map<std::string, std::string, std::less<>> values;
    std::string line;
    for (int i = 0; i < 4 && std::getline(in, line); ++i) {
        const std::size_t sign = line.find('=');
        if (sign != std::string::npos) values[line.substr(0, sign)] = line.substr(sign + 1);
    }
    const auto value_of = [&](const char* name) {
        const auto found = values.find(name);
        return found == values.end() ? nullptr : found->second.c_str();
    };
    return invitation_of(value_of(rendezvous_variable), value_of(worker_variable),
                         value_of(secret_variable), value_of(slot_variable));
}

std::string text_of(const Invitation& invitation) {
    return fmt::format("{}\n", fmt::join(environment_of(invitation), "\n"));
}

namespace {

FileDescriptor connected_socket(const SocketAddress& address, std::chrono::milliseconds within) {
    FileDescriptor socket = connecting_socket(address);
    pollfd connected{socket.get(), POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    if (::poll(&connected, 1, static_cast<int>(within.count())) != 1) {
        errno = ETIMEDOUT;
        fail("connect");
    }
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    if (error != 0) fail("connect");
    return socket;
}

Connection introduced(const SocketAddress& to, const std::string& identity, const Secret& secret,
                      const Message& hello, std::chrono::milliseconds within) {
    const kernels::PresharedKey key = kernels::derived_key(secret, identity);
    Connection connection(kernels::SecureStream(connected_socket(to, within), identity, key),
                          frame_bytes_max);
    if (connection.send(hello)) fail("send");
    return connection;
}

}  // namespace

Connection accept_invitation(const Invitation& invitation, std::chrono::milliseconds within) {
    Hello hello;
    hello.worker = invitation.worker;
    hello.process = ::getpid();
    return introduced(invitation.address, identity_of(invitation.worker), invitation.secret, hello,
                      within);
}

Connection join_as_agent(const SocketAddress& coordinator, const Secret& secret,
                         const AgentHello& hello, std::chrono::milliseconds within) {
    return introduced(coordinator, std::string(agent_identity), secret, hello, within);
}

Door::Door(const SocketAddress& host, Kind kind, const std::optional<Secret>& agents,
           const std::optional<Secret>& workers)
    : kind_(kind),
      listening_(listening_socket(host)),
      address_(SocketAddress::of_socket(listening_.get())),
      secret_(workers ? *workers : random_secret()),
      agents_(agents) {
    INVARIANT(kind == Kind::secure || !agents);
    INVARIANT(kind == Kind::secure || host.is_loopback());
}

void Door::watch(std::vector<pollfd>& descriptors) const {
    if (Clock::now() >= closed_until_) descriptors.push_back({listening_.get(), POLLIN, 0});
    for (const Stranger& stranger : strangers_) {
        const short events = stranger.connection.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
        descriptors.push_back({stranger.connection.descriptor(), events, 0});
    }
}

Moment Door::next_deadline() const {
    Moment next = Moment::max();
    for (const Stranger& stranger : strangers_) next = std::min(next, stranger.deadline);
    return Clock::now() < closed_until_ ? std::min(next, closed_until_) : next;
}

void Door::accept_all(Moment now) {
    if (now < closed_until_) return;
    for (std::size_t i = 0; i < strangers_max; ++i) {
        FileDescriptor socket(
            ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) {
            const bool none_waits = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
            if (!none_waits) closed_until_ = now + pause_without_descriptors;
            return;
        }
        send_at_once(socket);
        if (strangers_.size() == strangers_max) {
            // Who has begun to prove himself stays if somebody else can go.
            const auto first = std::ranges::find_if(
                strangers_, [](const Stranger& each) { return !each.connection.is_expected(); });
            strangers_.erase(first == strangers_.end() ? strangers_.begin() : first);
        }
        std::string host = SocketAddress::host_at_other_end(socket.get());
        strangers_.push_back(
            {connection_of(std::move(socket)), std::move(host), now + stranger_time, false});
    }
}

Connection Door::connection_of(FileDescriptor socket) const {
    if (kind_ == Kind::plain) return {std::move(socket), hello_bytes_max};
    const auto key_of = [this](std::string_view identity) -> std::optional<kernels::PresharedKey> {
        if (identity == agent_identity) {
            return agents_ ? std::optional(kernels::derived_key(*agents_, identity)) : std::nullopt;
        }
        return kernels::derived_key(secret_, identity);
    };
    return {kernels::SecureStream(std::move(socket), key_of), hello_bytes_max};
}

bool Door::is_ours(const Hello& hello, const Connection& connection) const {
    if (hello.protocol != protocol_version) return false;
    if (kind_ == Kind::plain) return same_secret(hello.secret, secret_);
    return connection.identity() == identity_of(hello.worker);
}

bool Door::is_ours(const AgentHello& hello, const Connection& connection) const {
    return hello.protocol == protocol_version && connection.identity() == agent_identity &&
           agents_ && hello.slots > 0 && hello.slots <= agent_slots_max && !hello.name.empty() &&
           hello.name.size() <= agent_name_bytes_max;
}

std::optional<Door::Guest> Door::guest_of(const Message& message, Connection& connection) const {
    const auto enter = [&](const auto* hello) -> std::optional<Guest> {
        if (hello == nullptr || !is_ours(*hello, connection)) return std::nullopt;
        connection.trust();
        return Guest{*hello, std::move(connection)};
    };
    if (auto worker = enter(std::get_if<Hello>(&message))) return worker;
    return enter(std::get_if<AgentHello>(&message));
}

// Each host once, and not more than so many: those who try keys fill nothing.
void Door::note_wrong_secret(const Stranger& stranger) {
    if (stranger.connection.identity() != agent_identity) return;
    if (hosts_with_wrong_secrets_.size() == wrong_secrets_max) return;
    if (hosts_with_wrong_secrets_.insert(stranger.host).second) {
        wrong_secrets_.push_back(stranger.host);
    }
}

std::vector<Door::Guest> Door::admit(Moment now) {
    accept_all(now);
    std::vector<Guest> guests;
    std::vector<Stranger> waiting;
    for (Stranger& stranger : strangers_) {
        std::vector<Message> messages;
        auto problem = stranger.connection.receive(messages, 1);
        if (!problem) problem = stranger.connection.flush();
        if (stranger.connection.has_wrong_key()) note_wrong_secret(stranger);
        if (messages.empty()) {
            if (stranger.connection.is_expected() && !stranger.proves) {
                stranger.proves = true;
                stranger.deadline = now + proof_time;
            }
            if (!problem && now < stranger.deadline) waiting.push_back(std::move(stranger));
            continue;
        }
        if (auto guest = guest_of(messages.front(), stranger.connection)) {
            guests.push_back(std::move(*guest));
        }
    }
    strangers_ = std::move(waiting);
    return guests;
}

}  // namespace ukemi::runtime
