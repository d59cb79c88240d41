// link_spec.cpp — "bandwidth" and "latency".
#include "base/link_spec.hpp"

namespace ukemi {
namespace {

BytesPerSecond read_bandwidth(ConfigReader& section) {
    const BytesPerSecond bandwidth = section.bandwidth("bandwidth");
    if (!(bandwidth.raw() > 0)) section.fail("bandwidth", "expected a bandwidth above zero");
    return bandwidth;
}

Duration checked_latency(const ConfigReader& section, Duration latency) {
    if (latency > whole_seconds(60)) {
        section.fail("latency", "expected from 0 s to 1 min, found " + format_duration(latency));
    }
    return latency;
}

}  // namespace

LinkSpec read_link(ConfigReader& section) {
    const BytesPerSecond bandwidth = read_bandwidth(section);
    return {bandwidth, checked_latency(section, section.duration("latency", {}))};
}

LinkSaid read_link_said(ConfigReader& section) {
    LinkSaid link;
    if (section.has("bandwidth")) link.bandwidth = read_bandwidth(section);
    if (section.has("latency")) {
        link.latency = checked_latency(section, section.duration("latency"));
    }
    return link;
}

}  // namespace ukemi
