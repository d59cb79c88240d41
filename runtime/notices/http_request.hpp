// http_request.hpp — one short question to a metadata service, and its answer, within a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ukemi::runtime {

struct HttpRequest {
    std::string method = "GET";
    std::string address;  // a number, "169.254.169.254": no name is looked up
    std::uint16_t port = 80;
    std::string target;  // "/latest/api/token"
    std::vector<std::pair<std::string, std::string>> headers;
};

struct HttpAnswer {
    unsigned status = 0;
    std::string body;      // at most 64 KiB
    std::string metadata;  // what it says under "Metadata-Flavor", as Google's does
};

// Throws std::runtime_error, one line: nobody answers within the time, or not in HTTP.
HttpAnswer send_request(const HttpRequest& request, std::chrono::milliseconds within);

}  // namespace ukemi::runtime
