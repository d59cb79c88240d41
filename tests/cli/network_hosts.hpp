// network_hosts.hpp — hosts of one machine: network namespaces on a bridge, or on a switch of ours
// whose ways are as bad as a test wants them; made for a test and taken away with all that runs in
// them.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "tests/cli/child.hpp"
#include "tests/cli/packet_switch.hpp"

namespace ukemi {

inline constexpr const char* netns_program = "/usr/sbin/ip";
inline constexpr const char* hub_address = "10.77.0.1:7421";  // where agents join

enum class HostNetwork : std::uint8_t { bridge, switched };

// The coordinator's host is at 10.77.0.1, host number k (from 1, named by its number) at
// 10.77.0.(10 + k).

class NetworkHosts {
public:
    explicit NetworkHosts(int count, HostNetwork network = HostNetwork::bridge)
        : prefix_(fmt::format("uk{}-", ::getpid())), count_(count) {
        network == HostNetwork::bridge ? make_bridge(count) : make_switch(count);
    }
    ~NetworkHosts() {
        switch_.reset();
        std::string script;
        for (int k = 0; k <= count_; ++k) {
            script += fmt::format(
                "ip netns pids {0} 2>/dev/null | xargs -r kill -9\n"
                "ip netns del {0} 2>/dev/null\n",
                name_of(k));
        }
        run(script);
    }
    NetworkHosts(const NetworkHosts&) = delete;
    NetworkHosts& operator=(const NetworkHosts&) = delete;

    // Why there are none; empty if there are.
    const std::string& refusal() const { return refusal_; }
    // Words to put before a command that shall run on the coordinator's host.
    std::vector<std::string> here() const { return {"netns", "exec", prefix_ + "hub"}; }
    // The same on a host.
    std::vector<std::string> on(int host) const {
        return {"netns", "exec", fmt::format("{}{}", prefix_, host)};
    }
    // A remote shell for them.
    void write_shell(const std::filesystem::path& file) const {
        std::ofstream(file) << "#!/bin/sh\nhost=$1\nshift\nexec ip netns exec " << prefix_
                            << "\"$host\" sh -c \"$*\"\n";
        ::chmod(file.c_str(), 0755);
    }
    // Nothing gets through to it or from it any more, and it does not hear why.
    void cut_off(int host) const {
        run(fmt::format("ip -n {}hub link set v{} down", prefix_, host));
    }
    void connect_again(int host) const {
        run(fmt::format("ip -n {}hub link set v{} up", prefix_, host));
    }
    // One way only: what it sends to the coordinator's host is lost, or what that one sends to it.
    void forbid_to_hub(int host) const {
        run(fmt::format("ip -n {}{} route add blackhole 10.77.0.1/32", prefix_, host));
    }
    void allow_to_hub(int host) const {
        run(fmt::format("ip -n {}{} route del blackhole 10.77.0.1/32", prefix_, host));
    }
    void forbid_from_hub(int host) const {
        run(fmt::format("ip -n {}hub route add blackhole 10.77.0.1{}/32", prefix_, host));
    }
    void allow_from_hub(int host) const {
        run(fmt::format("ip -n {}hub route del blackhole 10.77.0.1{}/32", prefix_, host));
    }
    void signal_all(int host, const char* signal) const {
        run(fmt::format("ip netns pids {}{} | xargs -r kill -{}", prefix_, host, signal));
    }
    std::string processes(int host) const {
        return run(fmt::format("ip netns pids {}{}", prefix_, host)).out;
    }
    // A worker whose remote shell was killed ends when it sees its connection closed: soon, not at
    // once.
    bool nobody_is_left() const { return nobody_is_left(count_); }
    bool nobody_is_left(int hosts) const {  // on the first so many
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        for (int host = 1; host <= hosts; ++host) {
            while (!processes(host).empty()) {
                if (std::chrono::steady_clock::now() > end) return false;
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
        }
        return true;
    }

    // Both ways between two hosts, of which 0 is the coordinator's; with HostNetwork::switched.
    void set_way(int one, int other, const PacketWay& way) {
        set_way_from(one, other, way);
        set_way_from(other, one, way);
    }
    void set_way_from(int from, int to, const PacketWay& way) {
        switch_->set_way(static_cast<std::size_t>(from), static_cast<std::size_t>(to), way);
    }
    // All ways there are.
    void set_ways(const PacketWay& way) {
        for (int one = 0; one <= count_; ++one) {
            for (int other = 0; other < one; ++other) set_way(one, other, way);
        }
    }
    std::int64_t delivered(int from, int to) const {
        return switch_->delivered(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
    }

private:
    std::string name_of(int host) const {
        return host == 0 ? prefix_ + "hub" : fmt::format("{}{}", prefix_, host);
    }
    void make_bridge(int count) {
        std::string script = fmt::format(
            "set -e\nip netns add {0}hub\nip -n {0}hub link set lo up\n"
            "ip -n {0}hub link add name bridge0 type bridge\n"
            "ip -n {0}hub addr add 10.77.0.1/24 dev bridge0\nip -n {0}hub link set bridge0 up\n",
            prefix_);
        for (int k = 1; k <= count; ++k) {
            script += fmt::format(
                "ip netns add {0}{1}\nip -n {0}{1} link set lo up\n"
                "ip -n {0}hub link add v{1} type veth peer name eth0 netns {0}{1}\n"
                "ip -n {0}hub link set v{1} master bridge0 up\n"
                "ip -n {0}{1} addr add 10.77.0.1{1}/24 dev eth0\n"
                "ip -n {0}{1} link set eth0 up\n",
                prefix_, k);
        }
        const Ran ran = run(script);
        if (ran.code != 0) refusal_ = ran.err.substr(0, ran.err.find('\n'));
    }
    void make_switch(int count) {
        std::string make = "set -e\n";
        std::string up = "set -e\n";
        std::vector<PacketSwitch::Host> hosts;
        for (int k = 0; k <= count; ++k) {
            const auto last = static_cast<std::uint8_t>(k == 0 ? 1 : 10 + k);
            hosts.push_back({name_of(k), {10, 77, 0, last}});
            make += fmt::format("ip netns add {0}\nip -n {0} link set lo up\n", name_of(k));
            up += fmt::format(
                "ip -n {0} addr add 10.77.0.{1}/24 dev eth0\n"
                "ip -n {0} link set eth0 mtu 9000 up\n",
                name_of(k), last);
        }
        const Ran made = run(make);
        if (made.code != 0) refusal_ = made.err.substr(0, made.err.find('\n'));
        if (!refusal_.empty()) return;
        try {
            switch_.emplace(hosts);
        } catch (const std::system_error& error) {
            refusal_ = error.what();
            return;
        }
        const Ran ran = run(up);
        if (ran.code != 0) refusal_ = ran.err.substr(0, ran.err.find('\n'));
    }
    static Ran run(const std::string& script) {
        return run_program("/bin/sh", "/", {"-c", "PATH=$PATH:/usr/sbin:/sbin\n" + script});
    }
    std::string prefix_;
    int count_;
    std::string refusal_;
    std::optional<PacketSwitch> switch_;
};

}  // namespace ukemi
