// http_request.cpp — by Boost.Beast, with one deadline over connecting, asking and hearing.
#include "runtime/notices/http_request.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <stdexcept>

#include "base/plain_text.hpp"

namespace ukemi::runtime {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Error = boost::system::error_code;

constexpr std::size_t body_most = 64 * 1024;

[[noreturn]] void fail(const HttpRequest& request, std::string_view why) {
    throw std::runtime_error(fmt::format("{}:{}{}: {}", request.address, request.port,
                                         request.target, one_line(std::string(why))));
}

http::request<http::empty_body> message_of(const HttpRequest& request) {
    http::request<http::empty_body> message(
        request.method == "PUT" ? http::verb::put : http::verb::get, request.target, 11);
    message.set(http::field::host, request.address);
    message.set(http::field::connection, "close");
    if (request.method == "PUT") message.set(http::field::content_length, "0");
    for (const auto& [name, value] : request.headers) message.set(name, value);
    return message;
}

}  // namespace

HttpAnswer send_request(const HttpRequest& request, std::chrono::milliseconds within) {
    Error error;
    const asio::ip::address address = asio::ip::make_address(request.address, error);
    if (error) fail(request, "expected an address in numbers");
    asio::io_context context;
    beast::tcp_stream stream(context);
    const http::request<http::empty_body> message = message_of(request);
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(body_most);
    Error outcome = asio::error::timed_out;
    const auto end = [&](Error failed) { outcome = failed; };
    stream.async_connect({address, request.port}, [&](Error connected) {
        if (connected) return end(connected);
        http::async_write(stream, message, [&](Error written, std::size_t) {
            if (written) return end(written);
            http::async_read_header(stream, buffer, parser, [&](Error read, std::size_t) {
                if (read) return end(read);
                // Boost 1.74 does not hold its limit against a length that is stated.
                if (parser.content_length().value_or(0) > body_most) {
                    return end(http::error::body_limit);
                }
                http::async_read(stream, buffer, parser,
                                 [&](Error whole, std::size_t) { end(whole); });
            });
        });
    });
    context.run_for(within);
    if (outcome == asio::error::timed_out) fail(request, "no answer");
    if (outcome) fail(request, outcome.message());
    const http::response<http::string_body>& answer = parser.get();
    return {answer.result_int(), answer.body(), std::string(answer["Metadata-Flavor"])};
}

}  // namespace ukemi::runtime
