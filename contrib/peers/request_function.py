"""vLLM's own request function without the rest of its client: the requests of
`vllm bench serve --backend openai-chat`, at once or so many at a time.

    PYTHON request_function.py URL MODEL REQUESTS CONCURRENCY TOKENS

Its file is loaded by path from wherever PYTHON has vllm, since importing the
package takes most of a minute. Prints its figures as JSON.
"""

import asyncio
import importlib.util
import json
import pathlib
import statistics
import sys
import time


def load():
    package = importlib.util.find_spec("vllm")
    if not package:
        sys.exit("this Python has no vllm")
    path = pathlib.Path(package.submodule_search_locations[0],
                        "benchmarks", "lib", "endpoint_request_func.py")
    spec = importlib.util.spec_from_file_location("request_func", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["request_func"] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


async def run(module, url, model, n, concurrency, tokens):
    aiohttp = module.aiohttp
    gate = asyncio.Semaphore(concurrency)
    # As vllm/benchmarks/serve.py makes it.
    connector = aiohttp.TCPConnector(
        limit=concurrency, limit_per_host=concurrency, ttl_dns_cache=300,
        use_dns_cache=True, keepalive_timeout=60, enable_cleanup_closed=True,
        force_close=False)
    async with aiohttp.ClientSession(
            connector=connector, trust_env=True,
            timeout=module.AIOHTTP_TIMEOUT) as session:

        async def one(i):
            ask = module.RequestFuncInput(
                prompt=f"Tell me about the number {i}.", prompt_len=6,
                api_url=f"{url}/v1/chat/completions", model=model,
                output_len=tokens, ignore_eos=True)
            async with gate:
                return await module.async_request_openai_chat_completions(
                    ask, session)

        began = time.perf_counter()
        results = await asyncio.gather(*(one(i) for i in range(n)))
        return results, time.perf_counter() - began


def quantile(values, q):
    """numpy's linear interpolation."""
    values = sorted(values)
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def main():
    url, model, *numbers = sys.argv[1:]
    n, concurrency, tokens = map(int, numbers)
    module = load()
    results, seconds = asyncio.run(run(module, url, model, n, concurrency,
                                       tokens))
    done = [r for r in results if r.success]
    ttfts = [1e3 * r.ttft for r in done]
    itls = [1e3 * gap for r in done for gap in r.itl]
    json.dump({
        "completed": len(done),
        "mean_ttft_ms": statistics.fmean(ttfts) if ttfts else None,
        "p99_ttft_ms": quantile(ttfts, 0.99) if ttfts else None,
        "mean_itl_ms": statistics.fmean(itls) if itls else None,
        "p99_itl_ms": quantile(itls, 0.99) if itls else None,
        "output_throughput": sum(r.output_tokens for r in done) / seconds,
    }, sys.stdout)


if __name__ == "__main__":
    main()
