// gloo_mesh_peers.cpp — how ranks of a mesh meet, watch each other and part.
#include <arpa/inet.h>
#include <gloo/transport/tcp/address.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/invariant.hpp"
#include "kernels/gloo_mesh.hpp"
#include "kernels/operation_slots.hpp"

namespace ukemi::kernels {

namespace {

// Slots that no operation gets.
constexpr std::uint64_t greeting_slot = 1;
constexpr std::uint64_t notice_slot = 2;
constexpr std::uint64_t answer_slot = 3;
static_assert(answer_slot < slot_positions);

constexpr std::chrono::milliseconds leave_when_well{1000};
constexpr std::chrono::milliseconds leave_when_failed{500};

bool on_this_machine(const std::vector<char>& bytes) {
    const gloo::transport::tcp::Address address(bytes);
    const sockaddr_storage& storage = address.getSockaddr();
    if (storage.ss_family != AF_INET) return false;
    sockaddr_in internet{};
    std::memcpy(&internet, &storage, sizeof internet);
    return ntohl(internet.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

// What `from` says to `to` when they meet: who has it cannot find the secret from it, nor what
// another pair or another epoch says.
GlooMesh::Greeting greeting(const GlooSettings& settings, int from, int to) {
    const std::array<std::uint64_t, 4> meeting{
        settings.membership.epoch, static_cast<std::uint64_t>(settings.membership.size),
        static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)};
    std::array<unsigned char, sizeof meeting> text{};  // the lowest byte first, on all machines
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = static_cast<unsigned char>(meeting[i / 8] >> (i % 8 * 8));
    }
    GlooMesh::Greeting code{};
    const std::string& secret = settings.secret;
    INVARIANT(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), text.data(),
                   text.size(), code.data(), nullptr) != nullptr);
    return code;
}

}  // namespace

Outcome GlooMesh::connect(std::span<const std::vector<std::byte>> addresses) {
    const auto [epoch, rank, size] = settings_.membership;
    INVARIANT(!connected_);
    if (addresses.size() != static_cast<std::size_t>(size)) {
        fail(Outcome::peer_lost, -1);
        return outcome();
    }
    posts_->make_rounds(true);
    Operation operation(*this);
    for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        const std::vector<std::byte>& all = addresses[static_cast<std::size_t>(peer)];
        if (all.size() != address_.size()) {
            fail(Outcome::peer_lost, peer);
            return outcome();
        }
        const auto one =
            std::span(all).subspan(static_cast<std::size_t>(rank) * address_bytes_, address_bytes_);
        if (!connect_to(operation, peer, one)) return outcome();
    }
    if (!greet(operation)) return outcome();
    for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        auto watch = std::make_unique<Watch>();
        watch->peer = peer;
        watch->notice_buffer = operation.buffer(&watch->notice, sizeof watch->notice);
        watch->answer_buffer = operation.buffer(&watch->answer, sizeof watch->answer);
        operation.receive(*watch->notice_buffer, peer, notice_slot);
        watches_.push_back(std::move(watch));
    }
    for (const auto& each : watches_) {
        each->thread = std::thread([this, &peer = *each] { watch(peer); });
    }
    connected_ = true;
    posts_->make_rounds(false);
    return outcome();
}

bool GlooMesh::connect_to(Operation& operation, int peer, std::span<const std::byte> address) {
    std::vector<char> bytes(address.size());
    std::memcpy(bytes.data(), address.data(), address.size());
    if (!on_this_machine(bytes)) {
        fail(Outcome::peer_lost, peer);
        return false;
    }
    {
        const std::lock_guard lock(mutex_);
        if (Clock::now() >= operation.deadline_) fail_locked(Outcome::timed_out, peer);
        if (outcome_ != Outcome::ok) return false;
        operation.connects_ = true;
        operation.peer_ = peer;
    }
    operation.attempt(peer, [&] { context_->getPair(peer)->connect(bytes); });
    const std::lock_guard lock(mutex_);
    operation.connects_ = false;
    return outcome_ == Outcome::ok;
}

bool GlooMesh::greet(Operation& operation) {
    const auto [epoch, rank, size] = settings_.membership;
    for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        auto meeting = std::make_unique<Meeting>();
        meeting->peer = peer;
        meeting->said = greeting(settings_, rank, peer);
        meeting->send = operation.buffer(meeting->said.data(), meeting->said.size());
        meeting->receive = operation.buffer(meeting->heard.data(), meeting->heard.size());
        meetings_.push_back(std::move(meeting));
        Meeting& last = *meetings_.back();
        if (!operation.receive(*last.receive, peer, greeting_slot)) return false;
        if (!operation.send(*last.send, peer, greeting_slot)) return false;
    }
    for (const auto& meeting : meetings_) {
        if (!operation.wait_received(*meeting->receive, meeting->peer)) return false;
        const Greeting expected = greeting(settings_, meeting->peer, rank);
        if (CRYPTO_memcmp(meeting->heard.data(), expected.data(), expected.size()) != 0) {
            fail(Outcome::peer_lost, meeting->peer);
            return false;
        }
        if (!operation.wait_sent(*meeting->send, meeting->peer)) return false;
    }
    return true;
}

void GlooMesh::watch(Watch& peer) {
    try {
        if (!peer.notice_buffer->waitRecv(nullptr, never)) return;  // we stop
    } catch (const std::exception&) {
        return lose(peer.peer);
    }
    if (peer.notice.outcome != static_cast<std::int32_t>(Outcome::ok)) lose(peer.peer);
    try {
        peer.answer_buffer->send(peer.peer, answer_slot);
        peer.answer_buffer->waitSend(nullptr, never);
    } catch (const std::exception&) {
        // It did not wait for the answer.
    }
}

// The connection to `peer` is gone, or it said that it has failed. If it gave a reason, that is the
// reason: what Gloo reads last before the end of a connection is there before the end is known.
void GlooMesh::lose(int peer) {
    const auto watch =
        std::ranges::find(watches_, peer, [](const auto& each) { return each->peer; });
    const Notice notice = watch == watches_.end() ? Notice() : (*watch)->notice;
    const std::lock_guard lock(mutex_);
    switch (notice.outcome) {
        case static_cast<std::int32_t>(Outcome::peer_lost):
        case static_cast<std::int32_t>(Outcome::timed_out): break;
        case static_cast<std::int32_t>(Outcome::aborted):
            return fail_locked(Outcome::peer_lost, -1);  // it is alive, and nobody's fault
        default: return fail_locked(Outcome::peer_lost, peer);
    }
    int suspect = std::clamp(notice.suspect, -1, settings_.membership.size - 1);
    if (suspect == settings_.membership.rank) {
        // Somebody gave up waiting for this rank, which waits itself.
        const auto waits = std::ranges::find_if(
            operations_, [](const Operation* each) { return each->waited_ != nullptr; });
        if (waits != operations_.end()) suspect = (*waits)->peer_;
    }
    fail_locked(static_cast<Outcome>(notice.outcome), suspect);
}

// What a rank sent last may still be on its way when it closes, and closing cuts it off: so it says
// goodbye behind it and waits for the answers, but not for that of the rank that it suspects.
void GlooMesh::say_goodbye() {
    if (watches_.empty()) return;
    Notice notice;
    {
        const std::lock_guard lock(mutex_);
        notice.outcome = static_cast<std::int32_t>(outcome_);
        notice.suspect = suspect_;
    }
    const bool well = notice.outcome == static_cast<std::int32_t>(Outcome::ok);
    Operation operation(
        *this, well ? std::min(leave_when_well, settings_.deadline) : leave_when_failed, true);
    for (const auto& watch : watches_) {
        auto goodbye = std::make_unique<Goodbye>();
        goodbye->peer = watch->peer;
        goodbye->notice = notice;
        goodbye->send = operation.buffer(&goodbye->notice, sizeof notice);
        goodbye->receive = operation.buffer(&goodbye->answer, sizeof goodbye->answer);
        goodbye->under_way = operation.receive(*goodbye->receive, watch->peer, answer_slot) &&
                             operation.send(*goodbye->send, watch->peer, notice_slot);
        goodbyes_.push_back(std::move(goodbye));
    }
    for (const auto& goodbye : goodbyes_) {
        if (!goodbye->under_way || goodbye->peer == notice.suspect) continue;
        operation.wait_received(*goodbye->receive, goodbye->peer);
    }
}

void GlooMesh::withdraw() {
    const std::lock_guard once(withdrawal_);
    if (std::exchange(withdrawn_, true)) return;
    // First: a close has the connection's lock and waits for Gloo's thread, which a post would make
    // wait for that lock.
    posts_->drop();
    say_goodbye();
    posts_->make_rounds(true);
    for (int peer = 0; peer < settings_.membership.size; ++peer) {
        if (peer != settings_.membership.rank) context_->getPair(peer)->close();
    }
}

}  // namespace ukemi::kernels
