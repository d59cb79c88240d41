// secure_stream.cpp — OpenSSL's records on one side, a socket that never blocks on the other.
#include "kernels/secure_stream.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "base/invariant.hpp"

namespace ukemi::kernels {

namespace {

constexpr std::size_t identity_bytes_max = 128;
constexpr std::size_t inbound_bytes_stranger = 16 << 10;
constexpr std::size_t inbound_bytes = 256 << 10;
// What a plain read takes beyond what was asked for: the next header, and short frames.
constexpr std::size_t inbound_bytes_plain = 16 << 10;
// A key of AES-128-GCM serves 2^24.5 records (RFC 8446, 5.5); new keys long before that.
constexpr std::uint64_t bytes_per_key = std::uint64_t{1} << 36;
constexpr const char* cipher_suite = "TLS_AES_128_GCM_SHA256";
constexpr std::array<unsigned char, 2> cipher_number{0x13, 0x01};  // its (RFC 8446, B.4)

}  // namespace

struct SecureStream::State {
    FileDescriptor socket;
    Protection protection;
    SSL* ssl = nullptr;
    std::string identity;
    PresharedKey key{};
    FindKey find_key;
    bool has_key = false;
    bool open = false;
    bool over = false;
    bool ended = false;  // the socket, by the other end or an error
    int socket_error = 0;
    std::string problem;
    std::vector<std::byte> inbound;
    std::size_t inbound_begin = 0;
    std::size_t inbound_end = 0;
    std::vector<std::byte> outbound;
    std::size_t outbound_begin = 0;
    std::span<const std::byte> lent;  // goes after them
    std::uint64_t bytes_under_key = 0;

    State(FileDescriptor given, Protection wanted) : socket(std::move(given)), protection(wanted) {
        inbound.resize(inbound_bytes_stranger);
    }
    ~State() { SSL_free(ssl); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void end_with(std::string why) {
        over = true;
        if (problem.empty()) problem = std::move(why);
    }
    // After a call of OpenSSL that did not succeed: whether it only waits for bytes.
    bool only_waits(int result) {
        const int error = SSL_get_error(ssl, result);
        ERR_clear_error();
        if (error == SSL_ERROR_WANT_READ && !ended) return true;
        if (ended || error == SSL_ERROR_ZERO_RETURN) {
            end_of_other();
        } else {
            end_with("it has not shown the group's key");
        }
        return false;
    }
    void end_of_other() {
        end_with(socket_error == 0
                     ? "it closed its connection"
                     : "its connection failed: " + std::generic_category().message(socket_error));
    }
    std::size_t receive_some(std::span<std::byte> first);
    std::size_t take_inbound(std::span<std::byte> into);
    int receive_into(char* bytes, std::size_t room);
    SSL_SESSION* session_of_key() const;
};

// One call of the kernel, which fills `first` and then the empty buffer; how much of it is in
// `first`.
std::size_t SecureStream::State::receive_some(std::span<std::byte> first) {
    INVARIANT(inbound_begin == inbound_end);
    inbound_begin = 0;
    inbound_end = 0;
    std::array<iovec, 2> places{{{first.data(), first.size()}, {inbound.data(), inbound.size()}}};
    const ssize_t count = ::readv(socket.get(), places.data(), static_cast<int>(places.size()));
    if (count > 0) {
        const std::size_t got = static_cast<std::size_t>(count);
        inbound_end = got - std::min(got, first.size());
        return got - inbound_end;
    }
    const bool later = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ||
                                     errno == ENOTCONN);  // it is still connecting
    if (later) return 0;
    ended = true;
    if (count < 0) socket_error = errno;
    return 0;
}

std::size_t SecureStream::State::take_inbound(std::span<std::byte> into) {
    const std::size_t taken = std::min(into.size(), inbound_end - inbound_begin);
    if (taken > 0) std::memcpy(into.data(), inbound.data() + inbound_begin, taken);
    inbound_begin += taken;
    return taken;
}

// What OpenSSL asks for: from the buffer, which one call of the kernel fills.
int SecureStream::State::receive_into(char* bytes, std::size_t room) {
    if (inbound_begin == inbound_end && !ended) {
        if (open && inbound.size() < inbound_bytes) inbound.resize(inbound_bytes);
        receive_some({});
    }
    const std::size_t taken = take_inbound(std::as_writable_bytes(std::span(bytes, room)));
    if (taken == 0) return ended ? 0 : -1;
    return static_cast<int>(taken);
}

SSL_SESSION* SecureStream::State::session_of_key() const {
    SSL_SESSION* const session = SSL_SESSION_new();
    if (session == nullptr) throw std::bad_alloc();
    const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, cipher_number.data());
    INVARIANT(cipher != nullptr && SSL_SESSION_set_cipher(session, cipher) == 1 &&
              SSL_SESSION_set1_master_key(session, key.data(), key.size()) == 1 &&
              SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1);
    return session;
}

// OpenSSL's way out and in: C functions, which know their stream by a pointer.
struct SecureStreamCallbacks {
    using State = SecureStream::State;
    static State& of(BIO* bio) { return *static_cast<State*>(BIO_get_data(bio)); }
    static State& of(SSL* ssl) { return *static_cast<State*>(SSL_get_app_data(ssl)); }

    static int write(BIO* bio, const char* bytes, int count) {
        BIO_clear_retry_flags(bio);
        const auto view = std::as_bytes(std::span(bytes, static_cast<std::size_t>(count)));
        State& state = of(bio);
        state.outbound.insert(state.outbound.end(), view.begin(), view.end());
        return count;
    }
    static int read(BIO* bio, char* bytes, int room) {
        BIO_clear_retry_flags(bio);
        const int got = of(bio).receive_into(bytes, static_cast<std::size_t>(room));
        if (got < 0) BIO_set_retry_read(bio);
        return got;
    }
    static long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

    // The connecting end: who it is, and its key.
    static int say_identity(SSL* ssl, const EVP_MD*, const unsigned char** identity,
                            std::size_t* size, SSL_SESSION** session) {
        const State& state = of(ssl);
        *identity = reinterpret_cast<const unsigned char*>(state.identity.data());
        *size = state.identity.size();
        *session = state.session_of_key();
        return 1;
    }
    static int find_session(SSL* ssl, const unsigned char* identity, std::size_t size,
                            SSL_SESSION** session) {
        State& state = of(ssl);
        *session = nullptr;
        if (size > identity_bytes_max || state.has_key) return 1;
        const std::string text(reinterpret_cast<const char*>(identity), size);
        const auto key = state.find_key(text);
        if (!key) return 1;
        state.key = *key;
        state.has_key = true;
        state.identity = text;
        *session = state.session_of_key();
        return 1;
    }
};

namespace {

BIO_METHOD* socket_method() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* const made =
            BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ukemi socket");
        INVARIANT(made != nullptr);
        BIO_meth_set_write(made, SecureStreamCallbacks::write);
        BIO_meth_set_read(made, SecureStreamCallbacks::read);
        BIO_meth_set_ctrl(made, SecureStreamCallbacks::control);
        return made;
    }();
    return method;
}

SSL_CTX* new_context(const SSL_METHOD* method) {
    SSL_CTX* const context = SSL_CTX_new(method);
    if (context == nullptr) throw std::bad_alloc();
    INVARIANT(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
              SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
              SSL_CTX_set_ciphersuites(context, cipher_suite) == 1 &&
              SSL_CTX_set1_groups_list(context, "X25519") == 1);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    return context;
}

// For the whole process. Neither has a certificate, and none is believed.
SSL_CTX* connecting_context() {
    static SSL_CTX* const context = [] {
        SSL_CTX* const made = new_context(TLS_client_method());
        SSL_CTX_set_verify(made, SSL_VERIFY_PEER, nullptr);
        SSL_CTX_set_psk_use_session_callback(made, SecureStreamCallbacks::say_identity);
        return made;
    }();
    return context;
}

SSL_CTX* accepting_context() {
    static SSL_CTX* const context = [] {
        SSL_CTX* const made = new_context(TLS_server_method());
        SSL_CTX_set_num_tickets(made, 0);
        SSL_CTX_set_psk_find_session_callback(made, SecureStreamCallbacks::find_session);
        return made;
    }();
    return context;
}

SSL* new_end(SSL_CTX* context, void* state) {
    SSL* const ssl = SSL_new(context);
    BIO* const bio = BIO_new(socket_method());
    if (ssl == nullptr || bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio, state);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, state);
    return ssl;
}

}  // namespace

PresharedKey derived_key(std::span<const std::uint8_t> secret, std::string_view purpose) {
    PresharedKey key{};
    static_assert(sizeof key == 32);
    INVARIANT(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                   reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size(),
                   key.data(), nullptr) != nullptr);
    return key;
}

SecureStream::SecureStream(FileDescriptor socket, std::string identity, const PresharedKey& key,
                           Protection protection)
    : state_(std::make_unique<State>(std::move(socket), protection)) {
    INVARIANT(identity.size() <= identity_bytes_max);
    state_->identity = std::move(identity);
    state_->key = key;
    state_->ssl = new_end(connecting_context(), state_.get());
    SSL_set_connect_state(state_->ssl);
}

SecureStream::SecureStream(FileDescriptor socket, FindKey find_key, Protection protection)
    : state_(std::make_unique<State>(std::move(socket), protection)) {
    state_->find_key = std::move(find_key);
    state_->ssl = new_end(accepting_context(), state_.get());
    SSL_set_accept_state(state_->ssl);
}

SecureStream::SecureStream(SecureStream&&) noexcept = default;
SecureStream& SecureStream::operator=(SecureStream&&) noexcept = default;
SecureStream::~SecureStream() = default;

int SecureStream::descriptor() const { return state_->socket.get(); }
Protection SecureStream::protection() const { return state_->protection; }
bool SecureStream::is_open() const { return state_->open && !state_->over; }
bool SecureStream::is_expected() const { return state_->has_key && !state_->over; }
const std::string& SecureStream::identity() const { return state_->identity; }
bool SecureStream::wants_to_write() const { return unsent_bytes() > 0; }
std::size_t SecureStream::unsent_bytes() const {
    return state_->outbound.size() - state_->outbound_begin + state_->lent.size();
}
const std::string& SecureStream::problem() const { return state_->problem; }
bool SecureStream::was_violated() const { return state_->over && !state_->ended; }

bool SecureStream::was_refused() const {
    const int error = state_->socket_error;
    return error != 0 && error != ECONNRESET && error != EPIPE;
}

bool SecureStream::shake_hands() {
    State& state = *state_;
    if (state.over || state.open) return !state.over;
    ERR_clear_error();  // what others have left
    const int result = SSL_do_handshake(state.ssl);
    if (result != 1) {
        const bool waits = state.only_waits(result);
        return flush() && waits;  // what is wrong is told to the other end, too
    }
    // Without the common key there is no handshake that ends; this must hold by what was allowed.
    if (SSL_session_reused(state.ssl) != 1) {
        state.end_with("it has not shown the group's key");
        return false;
    }
    state.open = true;
    return flush();
}

bool SecureStream::read(std::span<std::byte> into, std::size_t& got) {
    State& state = *state_;
    got = 0;
    if (state.over) return false;
    // What came with the last word of the handshake is there already: nobody else will say so.
    if (!state.open && (!shake_hands() || !state.open)) return !state.over;
    if (state.protection == Protection::handshake_only) return read_plain(into, got);
    ERR_clear_error();
    while (got < into.size()) {
        std::size_t part = 0;
        const int result = SSL_read_ex(state.ssl, into.data() + got, into.size() - got, &part);
        got += part;
        if (result == 1) continue;
        // What came before the end is delivered; the end shows at the next call.
        return state.only_waits(result) || got > 0;
    }
    return true;
}

bool SecureStream::read_plain(std::span<std::byte> into, std::size_t& got) {
    State& state = *state_;
    got = state.take_inbound(into);
    if (got == into.size()) return true;
    if (!state.ended) {
        state.inbound.resize(inbound_bytes_plain);
        got += state.receive_some(into.subspan(got));
    }
    if (state.ended) state.end_of_other();
    return !state.ended || got > 0;
}

bool SecureStream::lend(std::span<const std::byte> bytes) {
    State& state = *state_;
    if (state.protection == Protection::encrypted || !state.lent.empty()) return write(bytes);
    INVARIANT(state.open);
    state.lent = bytes;
    return !state.over;
}

bool SecureStream::write(std::span<const std::byte> bytes) {
    State& state = *state_;
    if (state.over) return false;
    INVARIANT(state.open);
    if (bytes.empty()) return true;
    if (state.protection == Protection::handshake_only) {
        const std::span<const std::byte> lent = std::exchange(state.lent, {});
        state.outbound.insert(state.outbound.end(), lent.begin(), lent.end());
        state.outbound.insert(state.outbound.end(), bytes.begin(), bytes.end());
        return true;
    }
    state.bytes_under_key += bytes.size();
    if (state.bytes_under_key > bytes_per_key) {
        state.bytes_under_key = 0;
        SSL_key_update(state.ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    std::size_t written = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(state.ssl, bytes.data(), bytes.size(), &written);
    if (result != 1 || written != bytes.size()) {  // our end takes everything: it is broken
        state.only_waits(result);
        state.end_with("its connection failed");
        return false;
    }
    return true;
}

bool SecureStream::flush() {
    State& state = *state_;
    while (wants_to_write()) {
        const std::size_t own = state.outbound.size() - state.outbound_begin;
        std::array<iovec, 2> parts{{{state.outbound.data() + state.outbound_begin, own},
                                    {const_cast<std::byte*>(state.lent.data()),  // only read
                                     state.lent.size()}}};
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = parts.size();
        const ssize_t sent = ::sendmsg(state.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 &&
            (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN)) {
            return !state.over;
        }
        if (sent < 0) {
            state.problem = "its connection failed: " + std::generic_category().message(errno);
            if (state.socket_error == 0) state.socket_error = errno;
            return false;
        }
        const std::size_t of_own = std::min(static_cast<std::size_t>(sent), own);
        state.outbound_begin += of_own;
        state.lent = state.lent.subspan(static_cast<std::size_t>(sent) - of_own);
    }
    state.outbound.clear();
    state.outbound_begin = 0;
    return !state.over;
}

void SecureStream::end_writing() { ::shutdown(state_->socket.get(), SHUT_WR); }

}  // namespace ukemi::kernels
