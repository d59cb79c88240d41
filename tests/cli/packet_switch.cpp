#include "tests/cli/packet_switch.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <span>
#include <system_error>

namespace ukemi {

namespace {

constexpr std::size_t packet_bytes_max = 65'536;
constexpr std::size_t ipv4_destination = 16;  // in an IPv4 header
constexpr std::chrono::milliseconds longest_queue{
    300};  // of a way with a rate; then packets go lost

[[noreturn]] void fail_switching(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// On a thread of its own, which stays in that namespace.
FileDescriptor device_in(const std::string& name_space) {
    const FileDescriptor there(
        ::open(("/var/run/netns/" + name_space).c_str(), O_RDONLY | O_CLOEXEC));
    if (!there) fail_switching("netns " + name_space);
    if (::setns(there.get(), CLONE_NEWNET) != 0) fail_switching("setns");
    FileDescriptor device(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!device) fail_switching("/dev/net/tun");
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::strncpy(request.ifr_name, "eth0", IFNAMSIZ - 1);
    if (::ioctl(device.get(), TUNSETIFF, &request) != 0) fail_switching("TUNSETIFF");
    return device;
}

}  // namespace

PacketSwitch::PacketSwitch(std::vector<Host> hosts)
    : hosts_(std::move(hosts)), end_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!end_) fail_switching("eventfd");
    std::exception_ptr problem;
    std::thread([&] {
        try {
            for (const Host& host : hosts_) devices_.push_back(device_in(host.name_space));
        } catch (...) {
            problem = std::current_exception();
        }
    }).join();
    if (problem) std::rethrow_exception(problem);
    thread_ = std::thread([this] { forward(); });
}

PacketSwitch::~PacketSwitch() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(end_.get(), &one, sizeof one);
    thread_.join();
}

void PacketSwitch::set_way(std::size_t from, std::size_t to, const PacketWay& way) {
    const std::lock_guard lock(mutex_);
    ways_[{from, to}].rules = way;
}

std::int64_t PacketSwitch::delivered(std::size_t from, std::size_t to) const {
    const std::lock_guard lock(mutex_);
    const auto found = ways_.find({from, to});
    return found == ways_.end() ? 0 : found->second.delivered;
}

int PacketSwitch::wait_ms() const {
    if (late_.empty()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(late_.top().due - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void PacketSwitch::forward() {
    std::vector<pollfd> watched{{end_.get(), POLLIN, 0}};
    for (const FileDescriptor& device : devices_) watched.push_back({device.get(), POLLIN, 0});
    for (;;) {
        ::poll(watched.data(), watched.size(), wait_ms());
        if (watched[0].revents != 0) return;
        for (std::size_t host = 0; host < devices_.size(); ++host) {
            if ((watched[host + 1].revents & POLLIN) != 0) take_from(host);
        }
        deliver_due();
    }
}

void PacketSwitch::take_from(std::size_t from) {
    constexpr int at_once = 64;
    for (int i = 0; i < at_once; ++i) {
        Packet packet(packet_bytes_max);
        const ssize_t got = ::read(devices_[from].get(), packet.data(), packet.size());
        if (got <= 0) return;
        packet.resize(static_cast<std::size_t>(got));
        accept(from, std::move(packet));
    }
}

// Decides when it comes, if it comes.
void PacketSwitch::accept(std::size_t from, Packet packet) {
    const bool is_ipv4 =
        packet.size() > ipv4_destination + 4 && std::to_integer<unsigned>(packet[0]) >> 4U == 4;
    if (!is_ipv4) return;
    const auto destination = std::span<const std::byte>(packet).subspan(ipv4_destination, 4);
    const auto found = std::ranges::find_if(hosts_, [&](const Host& host) {
        return std::ranges::equal(host.address, destination, {}, {}, [](std::byte byte) {
            return std::to_integer<std::uint8_t>(byte);
        });
    });
    if (found == hosts_.end()) return;
    const auto to = static_cast<std::size_t>(found - hosts_.begin());
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    Way& way = ways_[{from, to}];
    if (way.rules.stopped) return;
    if (std::bernoulli_distribution(way.rules.lost)(random_)) return;
    Clock::time_point sent = now;
    if (way.rules.bytes_per_second > 0) {
        const auto begins = std::max(now, way.free_at);
        if (begins - now > longest_queue) return;
        const auto bytes = static_cast<std::int64_t>(packet.size());
        way.free_at =
            begins + std::chrono::nanoseconds(bytes * 1'000'000'000 / way.rules.bytes_per_second);
        sent = way.free_at;
    }
    late_.push({sent + way.rules.delay, taken_++, from, to, std::move(packet)});
}

void PacketSwitch::deliver_due() {
    const auto now = Clock::now();
    while (!late_.empty() && late_.top().due <= now) {
        const Late& next = late_.top();
        const ssize_t put =
            ::write(devices_[next.to].get(), next.packet.data(), next.packet.size());
        if (put > 0) {
            const std::lock_guard lock(mutex_);
            ++ways_[{next.from, next.to}].delivered;
        }
        late_.pop();
    }
}

}  // namespace ukemi
