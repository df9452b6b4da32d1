from queues import forty_flows

figure = forty_flows(27, "RED", limit=250)
